// The whole daemon on one view.
import { h, render, card, bar, badge, facts, jobLink } from "./dom.js";
import { count, plural, duration, bytes, percent, kind } from "./format.js";

const PRIORITIES = ["critical", "high", "normal", "low"];
const STAGES = ["queue", "key", "decode", "witness", "device", "verify", "journal", "total"];
const P95_MIN_COUNT = 20; // fewer say nothing about the slowest twentieth
const EVERY_MS = 2000;
const RUNNING_SHOWN = 8;
const PART_NAMES = { done: "done", gpu: "on a device", synth_done: "witness ready", synthesizing: "witness being made", pending: "to do", failed: "failed" };
// Busy ratios are over this long, from what the polls saw.
const BUSY_WINDOW_MS = 60000;

const sum = (list) => list.reduce((a, b) => a + b, 0);

function tile(label, value, note, cls) {
  return h("div", { class: "tile " + (cls || "") }, h("dt", null, label), h("dd", null, value), note ? h("dd", { class: "note" }, note) : null);
}

function tiles(s) {
  const c = s.counters, hour = sum(s.throughput_per_minute);
  return h("dl", { class: "tiles" },
    tile("Done", count(c.total_completed), "since start"),
    tile("Last hour", count(hour), hour >= 6 ? (hour / 60).toFixed(1) + " a minute" : null),
    tile("Running", count(sum(s.queues.map((q) => q.running))), null),
    tile("Waiting", count(c.queue_depth), null),
    tile("Failed", count(c.total_failed), c.total_cancelled ? count(c.total_cancelled) + " cancelled" : null, c.total_failed ? "warn" : ""),
    tile("Up", duration(1000 * Math.max(1, Math.floor(s.uptime_secs))), null));
}

function alarms(s) {
  const c = s.counters, list = [];
  const sick = s.devices.filter((d) => !d.healthy).map((d) => d.name);
  if (!s.devices.length) list.push("There is no device to prove on: jobs wait.");
  for (const p of s.preloads) if (p.state === "failed") list.push("The key of " + p.circuit_id + " could not be loaded: " + p.error + ".");
  if (sick.length) list.push("Out of work after faults: " + sick.join(", ") + ".");
  if (c.self_check_failures) list.push(plural(c.self_check_failures, "proof") + " failed the self-check and " + (c.self_check_failures === 1 ? "was" : "were") + " not delivered.");
  if (c.partition_retries) list.push(plural(c.partition_retries, "partition") + " proven again.");
  if (!list.length) return null;
  return h("div", { class: "banner warn", key: "alarms", role: "note" }, list.join(" "));
}

// ---- throughput ----

function minuteText(values, i) {
  const back = values.length - 1 - i;
  return (back === 0 ? "this minute" : back + " min ago") + ": " + plural(values[i], "proof");
}

function throughput(view, values) {
  const top = Math.max(1, ...values);
  const label = "Proofs per minute over the last hour: " + sum(values) + " in all, at most " + top + ", " + values[values.length - 1] + " in this minute";
  const shown = view.minute === null ? null : minuteText(values, view.minute);
  const bars = values.map((v, i) => h("div", { class: "col" + (i === view.minute ? " on" : ""), title: minuteText(values, i),
    onpointerenter: () => view.pick(i), onclick: () => view.pick(i) },
  h("div", { class: "v", style: { height: (100 * v / top) + "%" } })));
  return card("Proofs per minute", { class: "card wide" },
    h("div", { class: "chart", onpointerleave: () => view.pick(null) },
      h("span", { class: "ymax", "aria-hidden": "true" }, count(top)),
      h("div", { class: "cols", role: "img", "aria-label": label }, bars),
      sum(values) ? null : h("p", { class: "nothing" }, "No proof in the last hour.")),
    h("div", { class: "axis", "aria-hidden": "true" }, h("span", null, "1 h ago"), h("span", null, shown || "30 min"), h("span", null, "now")));
}

// ---- tables and lists ----

function parts(p) {
  const number = (state) => p.partitions.filter((x) => x.state === state).length;
  const text = Object.keys(PART_NAMES).filter(number).map((state) => count(number(state)) + " " + PART_NAMES[state]).join(", ");
  const took = (what, ms) => ms === null ? "" : ", " + what + " " + duration(ms);
  return [h("div", { class: "parts" + (p.partitions.length > 32 ? " many" : ""), "aria-hidden": "true" },
    p.partitions.map((x) => h("span", { class: "part p-" + x.state,
      title: "partition " + x.index + ": " + PART_NAMES[x.state] + took("witness", x.synth_ms) + took("device", x.gpu_ms) }))),
  h("div", { class: "dim small" }, p.total_partitions > 1 ? text : text.replace(/^1 /, ""))];
}

function running(s) {
  const live = s.pipelines.filter((p) => !["done", "failed", "cancelled"].includes(p.state));
  const rows = live.slice(0, RUNNING_SHOWN).map((p) => h("li", { key: p.job_id },
    h("div", { class: "row" }, jobLink(p.job_id), badge(p.state), h("span", { class: "dim end" }, kind(p.proof_kind) + " · " + duration(1000 * p.started_secs_ago))),
    bar(p.progress, "Progress of " + p.job_id),
    parts(p)));
  return card("Running", null, rows.length ? h("ul", { class: "list" }, rows) : h("p", { class: "empty" }, "Nothing is running."),
    live.length > rows.length ? h("p", null, h("a", { href: "#/jobs?state=running" }, count(live.length - rows.length) + " more")) : null);
}

function queues(s) {
  const rows = s.queues.map((q) => h("tr", { key: q.proof_kind }, h("th", { scope: "row" }, kind(q.proof_kind)),
    PRIORITIES.map((p) => h("td", { class: q.queued[p] ? "" : "zero" }, count(q.queued[p]))),
    h("td", { class: q.running ? "" : "zero" }, count(q.running)), h("td", { class: "sep" }, count(q.completed)),
    h("td", { class: q.failed ? "bad" : "zero" }, count(q.failed))));
  return card("Queue", null, h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Queue table" }, h("table", { class: "num" },
    h("caption", { class: "sr" }, "Waiting jobs by kind and priority, and what became of earlier ones"),
    h("thead", null, h("tr", null, h("th", { scope: "col" }, "Kind"), PRIORITIES.map((p) => h("th", { scope: "col" }, p)),
      h("th", { scope: "col" }, "running"), h("th", { scope: "col", class: "sep" }, "done"), h("th", { scope: "col" }, "failed"))),
    h("tbody", null, rows))));
}

function device(view, s, d) {
  const busy = view.busyRatio(s, d), memory = d.memory_total_bytes;
  return h("li", { key: d.name },
    h("div", { class: "row" }, h("strong", null, d.name), h("span", { class: "pill " + (d.healthy ? "good" : "bad") }, d.healthy ? "healthy" : "out of work"),
      h("span", { class: "dim end" }, plural(d.partitions, "partition") + (d.faults ? ", " + plural(d.faults, "fault") : ""))),
    h("div", { class: "dim" }, d.description),
    h("div", { class: "measure" }, h("span", null, "busy"), bar(busy, d.name + " busy"), h("span", null, percent(busy))),
    memory ? h("div", { class: "measure" }, h("span", null, "memory"), bar(d.memory_used_bytes / memory, d.name + " memory", "mem"),
      h("span", null, bytes(d.memory_used_bytes) + " of " + bytes(memory))) : null,
    h("div", { class: "now" }, d.current_job ? ["proves ", jobLink(d.current_job), ", partition " + d.current_partition] : h("span", { class: "dim" }, "idle")));
}

function keys(s) {
  const rows = s.allocations.srs.map((k) => h("tr", { key: k.circuit_id }, h("th", { scope: "row" }, k.circuit_id),
    h("td", null, k.loading ? "loading" : bytes(k.host_bytes)), h("td", { class: k.device_bytes ? "" : "zero" }, k.device_bytes ? bytes(k.device_bytes) : "–"), h("td", { class: k.users ? "" : "zero" }, count(k.users)),
    h("td", null, k.loading ? "–" : k.users ? "in use" : duration(1000 * Math.round(k.last_used_secs_ago)) + " ago"), h("td", null, k.loading ? "–" : duration(k.load_ms))));
  const c = s.counters, tries = c.key_hits + c.key_misses;
  return card("Keys", null,
    rows.length ? h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Key table" }, h("table", { class: "num" },
      h("caption", { class: "sr" }, "Loaded proving keys"),
      h("thead", null, h("tr", null, ["Circuit", "host", "devices", "users", "last used", "load took"].map((x) => h("th", { scope: "col" }, x)))),
      h("tbody", null, rows))) : h("p", { class: "empty" }, "No key is loaded."),
    h("p", { class: "dim" }, (tries ? percent(c.key_hits / tries) + " of uses found their key loaded; " : "") + count(c.key_evictions) + " evicted."));
}

function memory(s) {
  const m = s.memory;
  return card("Host memory", null,
    h("div", { class: "measure" }, h("span", null, "reserved"), bar(m.total_bytes ? m.used_bytes / m.total_bytes : 0, "Reserved host memory", "mem"),
      h("span", null, bytes(m.used_bytes) + " of " + bytes(m.total_bytes))),
    facts([["Resident", bytes(m.rss_bytes)], ["Requests held", bytes(m.request_bytes)], ["Journal", bytes(m.store_bytes)], ["CPU threads", count(s.threads)]]));
}

function stages(s) {
  const of = new Map(s.stages.map((x) => [x.proof_kind + " " + x.stage, x]));
  const kinds = s.queues.map((q) => q.proof_kind).filter((k) => of.has(k + " total"));
  if (!kinds.length) return card("Where the time goes", { class: "card wide" }, h("p", { class: "empty" }, "Nothing was proven yet."));
  const cell = (k, stage) => {
    const x = of.get(k + " " + stage);
    return h("td", { class: (stage === "total" ? "sep " : "") + (x ? "" : "zero") }, x ? [duration(1000 * x.mean_secs),
      x.count >= P95_MIN_COUNT ? h("span", { class: "p95", title: "95 of 100 are faster, about" }, duration(1000 * x.p95_secs)) : null] : "–");
  };
  return card("Where the time goes", { class: "card wide" }, h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Stage table" }, h("table", { class: "num" },
    h("caption", { class: "sr" }, "Mean time of each stage, and below it the 95th percentile as estimated from the histogram"),
    h("thead", null, h("tr", null, h("th", { scope: "col" }, "Kind"), STAGES.map((x) => h("th", { scope: "col", class: x === "total" ? "sep" : "" }, x)), h("th", { scope: "col" }, "jobs"))),
    h("tbody", null, kinds.map((k) => h("tr", { key: k }, h("th", { scope: "row" }, kind(k)), STAGES.map((x) => cell(k, x)),
      h("td", null, count(of.get(k + " total").count))))))),
  h("p", { class: "dim" }, "Mean, below it about the 95th percentile (from " + P95_MIN_COUNT + " jobs on). Time inside jobs that no measured step explains: " + duration(1000 * s.counters.unaccounted_secs) + " since start."));
}

export function overviewView(main) {
  let last = null;
  const seen = []; // {at, busy: {device: seconds}}
  const view = {
    name: "overview", section: "overview", title: "Overview", minute: null,
    everyMs: () => EVERY_MS,
    async load(signal, status) {
      seen.push({ at: status.uptime_secs, busy: Object.fromEntries(status.devices.map((d) => [d.name, d.busy_seconds])) });
      while (seen.length > 2 && (status.uptime_secs - seen[0].at) * 1000 > BUSY_WINDOW_MS) seen.shift();
      if (seen[0].at > status.uptime_secs) seen.splice(0, seen.length - 1); // the daemon was restarted
    },
    busyRatio(s, d) {
      const first = seen[0], span = s.uptime_secs - first.at;
      if (span < 1 || first.busy[d.name] === undefined) return s.uptime_secs ? d.busy_seconds / s.uptime_secs : 0;
      return (d.busy_seconds - first.busy[d.name]) / span;
    },
    pick(i) {
      if (view.minute === i) return;
      view.minute = i;
      if (last) view.render(last);
    },
    render(s) {
      last = s;
      render(main, h("h1", { class: "sr" }, "Overview"), alarms(s), tiles(s),
        h("div", { class: "grid" }, throughput(view, s.throughput_per_minute),
          h("div", { class: "column" }, running(s), queues(s), memory(s)),
          h("div", { class: "column" }, card("Devices", null, s.devices.length ? h("ul", { class: "list" }, s.devices.map((d) => device(view, s, d))) :
            h("p", { class: "empty" }, "None.")), keys(s)),
          stages(s)));
    },
  };
  return view;
}
