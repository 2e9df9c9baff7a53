// One job: facts, where its time went, its timeline.
import { h, render, card, bar, badge, facts } from "./dom.js";
import { fetchJson, fetchRaw, jobPath, token } from "./api.js";
import { duration, bytes, dateTime, percent, count, kind } from "./format.js";
import { buildModel, rate } from "./spans.js";
import { Timeline } from "./timeline.js";
import { isFinal } from "./jobs.js";

const LIVE_EVERY_MS = 1000, FINAL_EVERY_MS = 30000;
// A long timeline is asked for less often, so that neither side is busy with it all the time.
const LOAD_SHARE_MAX = 0.1, LIVE_SLOWEST_MS = 15000;
// The tree of a job that ended is complete a moment later, and does not change after that.
const FINAL_LOADS = 2;
const TABLE_ROWS_MAX = 2000;

const PARTS = [
  ["queue_wait_ms", "queue"], ["key_load_ms", "key"], ["witness_ms", "witness", "witness, wait"], ["device_ms", "device"], ["verify_ms", "verify"],
];

// PoSts are about many sectors, and their requests name none.
function whose(j) {
  const miner = "f0" + j.miner_id;
  if (j.proof_kind.endsWith("-post")) return ["Miner", j.miner_id ? miner : null];
  return ["Miner, sector", j.miner_id || j.sector_number ? miner + ", " + j.sector_number : null];
}

function jobFacts(j, now) {
  return facts([
    ["Kind", kind(j.proof_kind) + " (" + j.circuit_id + ")"], ["Priority", j.priority], whose(j),
    ["Request id", j.request_id && j.request_id !== j.job_id ? j.request_id : null],
    ["Arrived", dateTime(j.created_unix_ms)], ["Begun", j.started_unix_ms ? dateTime(j.started_unix_ms) : null], ["Ended", j.finished_unix_ms ? dateTime(j.finished_unix_ms) : null],
    ["Deadline", j.deadline_unix_ms ? dateTime(j.deadline_unix_ms) : null], ["Time", duration(isFinal(j) ? j.times.total_ms : Math.max(0, now - j.created_unix_ms))],
    ["Partitions", j.partitions_done + " of " + j.total_partitions], ["Proven again", j.retries ? count(j.retries) : null], ["Device", j.device],
    ["Proof", j.proof_bytes ? count(j.proof_bytes) + " bytes, verified" : null], ["In line", j.state === "queued" ? count(j.queue_position + 1) : null],
  ]);
}

// True wall times, one after the other; what is left is said too.
function times(j) {
  const total = j.times.total_ms;
  if (!isFinal(j) || !total) return null;
  const parts = PARTS.map(([field, key, name = key]) => ({ key, name, ms: j.times[field] }));
  const rest = total - parts.reduce((a, p) => a + p.ms, 0);
  if (rest > 0) parts.push({ key: "other", name: "other", ms: rest });
  const shown = parts.filter((p) => p.ms > 0);
  return h("div", { class: "split" },
    h("div", { class: "stack", "aria-hidden": "true" }, shown.map((p) => h("span", { class: "t-" + p.key, title: p.name + " " + duration(p.ms), style: { "flex-grow": p.ms } }))),
    h("ul", { class: "legend" }, shown.map((p) => h("li", null, h("i", { class: "t-" + p.key, "aria-hidden": "true" }), p.name + " ", h("b", null, duration(p.ms)), h("span", { class: "dim" }, " " + percent(p.ms / total))))));
}

function spanDetails(item) {
  if (!item) return h("span", { class: "dim" }, "Point at a span, tap it, or use the arrow keys to see it here.");
  if (item.span) return [h("b", null, "Unaccounted "), duration(item.end - item.start) + " inside " + item.span.name, where(item.span), ", from " + duration(item.start) + " to " + duration(item.end),
    h("span", { class: "dim" }, " (no span says what happened)")];
  const r = rate(item);
  return [h("b", null, item.name + " "), duration(item.end - item.start), where(item), ", from " + duration(item.start) + " to " + duration(item.end),
    item.bytes ? ", " + bytes(item.bytes) + (r ? " (" + bytes(r) + "/s)" : "") : "", item.unaccounted ? ", unaccounted " + duration(item.unaccounted) : "",
    item.parent ? h("span", { class: "dim" }, " in " + item.parent.name) : ""];
}

function where(s) {
  return (s.partition !== null ? ", partition " + s.partition : "") + (s.device ? ", on " + s.device : "");
}

function spanTable(model, timeline) {
  const whole = model.end - model.start || 1, rows = model.spans.slice(0, TABLE_ROWS_MAX);
  return h("div", { class: "scroll tall", tabindex: 0, role: "region", "aria-label": "Span table" }, h("table", { class: "num spans" },
    h("caption", { class: "sr" }, "All spans as a tree: start, duration, share of the job, unaccounted time"),
    h("thead", null, h("tr", null, ["Span", "partition", "device", "start", "duration", "share", "unaccounted"].map((x) => h("th", { scope: "col" }, x)))),
    h("tbody", null, rows.map((s) => h("tr", { key: s.id, class: s.gaps.length ? "has-gap" : "" },
      h("th", { scope: "row" }, h("button", { type: "button", class: "link", style: { "margin-left": Math.min(s.depth, 12) * 12 + "px" }, onclick: () => timeline.show(s) }, s.name)),
      h("td", null, s.partition === null ? "–" : s.partition), h("td", null, s.device || "–"), h("td", null, duration(s.start)), h("td", null, duration(s.end - s.start)),
      h("td", null, percent((s.end - s.start) / whole)), h("td", null, s.unaccounted ? duration(s.unaccounted) : "–"))))),
  model.spans.length > rows.length ? h("p", { class: "dim" }, "The first " + count(rows.length) + " of " + count(model.spans.length) + " spans; the trace has all.") : null);
}

function legend(model) {
  const items = [["host", "host"], ...model.devices.map((d, i) => ["dev" + (i % 6 + 1), d])];
  return h("ul", { class: "legend" }, items.map(([c, name]) => h("li", null, h("i", { class: "c-" + c, "aria-hidden": "true" }), name)),
    model.gaps.length ? h("li", null, h("i", { class: "c-gap", "aria-hidden": "true" }), "unaccounted") : null);
}

async function download(e, path, id) {
  if (!token()) return; // the link does it
  e.preventDefault();
  const blob = await (await fetchRaw(path)).blob(), a = document.createElement("a");
  a.href = URL.createObjectURL(blob);
  a.download = "cuzk-" + id.replace(/[^\w-]/g, "_") + ".json";
  a.click();
  URL.revokeObjectURL(a.href);
}

export function jobView(main, id) {
  let job = null, model = null, missing = "", now = 0, timeline = null, picked = null, isOpen = false, loadMs = 0, finalLoads = 0;

  function onPick(item) {
    picked = item;
    const el = document.getElementById("span-details");
    if (el) render(el, spanDetails(item));
  }

  function toolbar() {
    const path = jobPath(id) + "/timeline?format=perfetto";
    const tool = (label, text, action) => h("button", { type: "button", "aria-label": label, title: label, onclick: () => timeline && timeline.model && action() }, text);
    return h("div", { class: "tools" }, tool("Zoom in", "+", () => timeline.zoom(0.6)), tool("Zoom out", "−", () => timeline.zoom(1 / 0.6)),
      tool("Earlier", "◀", () => timeline.pan(-0.25)), tool("Later", "▶", () => timeline.pan(0.25)), tool("Whole job", "Fit", () => timeline.fit()),
      h("a", { class: "button end", href: path, download: true, onclick: (e) => download(e, path, id) }, "Trace for Perfetto"));
  }

  function timelineCard() {
    if (!model) return card("Timeline", { class: "card wide" }, h("p", { class: "empty" }, missing || "No spans yet."));
    const whole = model.end - model.start;
    return card("Timeline", { class: "card wide", key: "timeline" }, toolbar(), legend(model),
      h("div", { class: "tl", id: "tl", key: "tl", keep: true }),
      h("p", { class: "details", id: "span-details", role: "status", keep: true }),
      h("p", { class: "dim hint" }, "Drag to move; click, then wheel to zoom (or Ctrl + wheel, or pinch). Keys: + − 0 zoom, arrows go from span to span, Shift + arrows move, g next gap."),
      model.dropped ? h("p", { class: "dim" }, count(model.dropped) + " more spans did not fit into the record.") : null,
      model.gaps.length ? h("div", { class: "gaps" }, h("h3", null, "Unaccounted time"),
        h("ul", null, model.gaps.slice(0, 8).map((g) => h("li", null, h("button", { type: "button", class: "link", onclick: () => timeline.show(g) },
          duration(g.end - g.start) + " in " + g.span.name + where(g.span)), h("span", { class: "dim" }, " " + percent((g.end - g.start) / whole) + " of the job"))))) : null,
      h("details", { ontoggle: (e) => {
        isOpen = e.target.open;
        view.render();
      } }, h("summary", null, "All " + count(model.spans.length) + " spans as a table"), isOpen ? spanTable(model, timeline) : null));
  }

  function drawTimeline() {
    const box = document.getElementById("tl");
    if (!box) return;
    if (!box.firstChild) {
      const inner = document.createElement("div"), canvas = document.createElement("canvas");
      canvas.tabIndex = 0;
      canvas.setAttribute("role", "application");
      canvas.setAttribute("aria-roledescription", "timeline");
      canvas.setAttribute("aria-label", "Timeline of the job. Arrow keys go from span to span; the table below holds the same.");
      inner.append(canvas);
      box.append(inner);
      timeline = new Timeline(box, canvas, onPick);
      onPick(null);
    }
    timeline.setModel(model);
    if (picked && !timeline.picked) onPick(null);
  }

  const view = {
    name: "job", section: "jobs", title: id,
    everyMs() {
      if (job && isFinal(job) && finalLoads >= FINAL_LOADS) return FINAL_EVERY_MS;
      return Math.min(LIVE_SLOWEST_MS, Math.max(LIVE_EVERY_MS, loadMs / LOAD_SHARE_MAX));
    },
    async load(signal) {
      job = null;
      try {
        job = await fetchJson(jobPath(id), signal);
      } catch (e) {
        if (e.status !== 404) throw e;
        missing = "The daemon does not know this job. It may have been removed by the retention limits.";
        return;
      }
      now = Date.now();
      if (isFinal(job) && finalLoads++ >= FINAL_LOADS) return;
      const begun = performance.now();
      try {
        model = buildModel(await fetchJson(jobPath(id) + "/timeline", signal));
        if (!model.spans.length) model = null;
      } catch (e) {
        if (e.status !== 404) throw e;
        model = null;
        missing = isFinal(job) ? "The timeline of this job is no longer kept." : "The timeline starts when the job does.";
      }
      loadMs = performance.now() - begun;
    },
    render() {
      if (!job) {
        render(main, h("h1", null, id), h("p", { class: "empty" }, missing + " ", h("a", { href: "#/jobs" }, "All jobs")));
        return;
      }
      render(main, h("h1", { class: "jobhead" }, h("span", { class: "id" }, id), badge(job.state)),
        job.error ? h("div", { class: "banner bad", key: "why" }, h("span", null, h("strong", null, (job.error_code || "").replace("CUZK_E_", "").toLowerCase().replace("_", " ") + ": "), job.error)) : null,
        isFinal(job) ? null : bar(job.progress, "Progress", "big"),
        h("div", { class: "grid" }, card("Job", { class: "card wide" }, jobFacts(job, now), times(job)), timelineCard()));
      if (model) drawTimeline();
    },
    redraw() {
      if (timeline) timeline.draw();
    },
    close() {
      if (timeline) timeline.close();
    },
  };
  return view;
}
