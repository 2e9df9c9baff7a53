// The list of jobs, with filters: those that run, those whose turn is next, those that ended last.
import { h, render, bar, badge, jobLink, jobHref } from "./dom.js";
import { fetchJson } from "./api.js";
import { count, duration, clock, dateTime, kind, KIND_IDS } from "./format.js";

const STATES = ["running", "queued", "done", "failed", "cancelled"];
const EVERY_MS = 2000;
const FIRST_LIMIT = 100;
const LIMIT_MAX = 1000; // the daemon's own

export function isFinal(job) {
  return ["done", "failed", "cancelled"].includes(job.state);
}

function rank(job) {
  return isFinal(job) ? 2 : job.state === "queued" ? 1 : 0;
}

function parseFilter() {
  const q = new URLSearchParams(location.hash.split("?")[1] || "");
  return { text: q.get("q") || "", state: STATES.includes(q.get("state")) ? q.get("state") : "", kind: KIND_IDS.includes(q.get("kind")) ? q.get("kind") : "" };
}

function saveFilter(f) {
  const q = new URLSearchParams();
  if (f.text) q.set("q", f.text);
  if (f.state) q.set("state", f.state);
  if (f.kind) q.set("kind", f.kind);
  history.replaceState(null, "", "#/jobs" + (q.size ? "?" + q : ""));
}

function isShown(job, f) {
  if (f.kind && job.proof_kind !== f.kind) return false;
  const words = f.text.toLowerCase().split(/\s+/).filter(Boolean);
  const hay = [job.job_id, job.request_id, job.circuit_id, job.state, job.priority, job.device, job.error, "f0" + job.miner_id, job.sector_number]
    .join(" ").toLowerCase();
  return words.every((w) => hay.includes(w));
}

function elapsed(job, now) {
  if (isFinal(job)) return job.times.total_ms || job.finished_unix_ms - job.created_unix_ms;
  return Math.max(0, now - job.created_unix_ms);
}

function progressCell(job) {
  if (job.state === "queued") return job.queue_position ? "number " + count(job.queue_position + 1) + " in line" : "next";
  if (job.state === "failed") return h("span", { class: "err", title: job.error || "" }, job.error || "failed");
  if (job.state === "cancelled") return "–";
  const share = job.state === "done" ? 1 : job.progress;
  return [bar(share, "Progress of " + job.job_id, job.state === "done" ? "ok" : ""),
    h("span", { class: "dim" }, job.total_partitions > 1 ? job.partitions_done + " of " + job.total_partitions : Math.round(100 * share) + " %")];
}

function row(job, now) {
  return h("tr", { key: job.job_id },
    h("td", { class: "c-state" }, badge(job.state)),
    h("th", { scope: "row", class: "c-id" }, jobLink(job.job_id)),
    h("td", { class: "c-kind" }, kind(job.proof_kind), h("span", { class: "dim" }, " " + (job.circuit_id.split("-").pop() || ""))),
    h("td", { class: "c-prio" }, job.priority),
    h("td", { class: "c-progress" }, progressCell(job)),
    h("td", { class: "c-when", title: dateTime(job.created_unix_ms) }, clock(job.created_unix_ms)),
    h("td", { class: "c-time" }, duration(elapsed(job, now))));
}

function table(jobs, now) {
  return h("table", { class: "jobs" }, h("caption", { class: "sr" }, "Jobs: running, waiting, ended"),
    h("thead", null, h("tr", null, ["State", "Job", "Kind", "Priority", "Progress", "Arrived", "Time"].map((x) => h("th", { scope: "col" }, x)))),
    h("tbody", null, jobs.map((j) => row(j, now))));
}

export function jobsView(main, reload) {
  let limit = FIRST_LIMIT, jobs = [], now = 0, full = false;
  const filter = parseFilter();

  function change(name, value, again) {
    filter[name] = value;
    saveFilter(filter);
    if (again) reload();
    else view.render();
  }

  function option(value, text, chosen) {
    return h("option", { value, selected: value === chosen }, text);
  }

  function form(shown) {
    return h("form", { class: "filters", key: "filters", role: "search", onsubmit: (e) => e.preventDefault() },
      h("label", null, h("span", null, "Search"), h("input", { type: "search", value: filter.text, placeholder: "id, sector, miner, error", spellcheck: "false",
        oninput: (e) => change("text", e.target.value, false) })),
      h("label", null, h("span", null, "State"), h("select", { onchange: (e) => change("state", e.target.value, true) },
        option("", "all", filter.state), STATES.map((s) => option(s, s, filter.state)))),
      h("label", null, h("span", null, "Kind"), h("select", { onchange: (e) => change("kind", e.target.value, false) },
        option("", "all", filter.kind), KIND_IDS.map((k) => option(k, kind(k), filter.kind)))),
      h("span", { class: "dim end", role: "status" }, count(shown) + (shown === jobs.length ? " jobs" : " of " + count(jobs.length) + " jobs") + (full ? " loaded, there are more" : "")));
  }

  const view = {
    name: "jobs", section: "jobs", title: "Jobs",
    everyMs: () => EVERY_MS,
    async load(signal) {
      const asked = filter.state ? [filter.state] : ["running", "queued", "final"];
      const answers = await Promise.all(asked.map((s) => fetchJson("api/jobs?state=" + s + "&limit=" + limit, signal)));
      const byId = new Map();
      for (const a of answers) for (const j of a.jobs) byId.set(j.job_id, j);
      full = answers.some((a) => a.jobs.length >= limit);
      now = answers[0].now_unix_ms;
      jobs = [...byId.values()].sort((a, b) => rank(a) - rank(b) || (rank(a) === 1 ? a.queue_position - b.queue_position : 0) ||
        b.created_unix_ms - a.created_unix_ms);
    },
    render() {
      const shown = jobs.filter((j) => isShown(j, filter)), text = filter.text.trim();
      render(main, h("h1", null, "Jobs"), form(shown.length),
        shown.length ? table(shown, now) : h("p", { class: "empty" }, jobs.length ? "No job here matches. " : "There are no jobs yet.",
          text ? h("a", { href: jobHref(text) }, "Open the job with the id “" + text + "”") : null),
        full && limit < LIMIT_MAX ? h("p", null, h("button", { type: "button", onclick: () => {
          limit = Math.min(LIMIT_MAX, limit * 3);
          reload();
        } }, "Load more")) : null);
    },
  };
  return view;
}
