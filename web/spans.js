// From a list of spans to rows, lanes and gaps. No drawing here.

// A gap is worth showing from these on, as in the daemon's own warning.
const GAP_MIN_MS = 10;
const GAP_MIN_SHARE = 0.01;

// What is left of [start, end] without the children: where nobody says what happened.
function gapsOf(span) {
  const busy = span.children.map((c) => [Math.max(c.start, span.start), Math.min(c.end, span.end)]).sort((a, b) => a[0] - b[0]);
  const least = Math.max(GAP_MIN_MS, GAP_MIN_SHARE * (span.end - span.start)), gaps = [];
  let at = span.start, total = 0;
  for (const [s, e] of [...busy, [span.end, span.end]]) {
    if (s > at) {
      total += s - at;
      if (s - at >= least) gaps.push({ start: at, end: s, span });
    }
    at = Math.max(at, e);
  }
  return total >= least ? gaps : [];
}

function groupOf(span) {
  if (span.partition !== null) return { key: "p" + span.partition, rank: 1, order: span.partition, label: "Partition " + span.partition, short: "P" + span.partition };
  if (span.device) return { key: "d" + span.device, rank: 2, order: 0, label: span.device, short: span.device };
  return { key: "job", rank: 0, order: 0, label: "Job", short: "Job" };
}

// Lanes of one group: below the parent, in the first lane where it overlaps nothing.
function assignLanes(spans) {
  const ends = []; // per lane
  for (const s of spans) {
    let lane = s.parent && s.parent.group === s.group ? s.parent.lane + 1 : 0;
    while (ends[lane] !== undefined && ends[lane] > s.start + 1e-6) lane++;
    ends[lane] = s.end;
    s.lane = lane;
  }
  return ends.length;
}

function depthOf(span) {
  let depth = 0;
  for (let p = span.parent; p && depth < 64; p = p.parent) depth++;
  return depth;
}

// {spans, groups, gaps, devices, dropped, start, end}; spans in tree order with children, depth, lane, group.
export function buildModel(timeline) {
  const byId = new Map(), spans = [];
  for (const s of timeline.spans || []) {
    const start = Number(s.start_ms) || 0, end = Math.max(start, Number(s.end_ms) || 0);
    const partition = Number.isInteger(s.partition) && s.partition >= 0 ? s.partition : null;
    const span = { id: s.id, parentId: s.parent, name: String(s.name), partition, device: s.device || "", start, end, bytes: s.bytes || 0,
      unaccounted: s.unaccounted_ms || 0, children: [], parent: null, lane: 0, depth: 0, group: null, gaps: [] };
    byId.set(s.id, span);
    spans.push(span);
  }
  const roots = [];
  for (const s of spans) {
    const parent = s.parentId === s.id ? undefined : byId.get(s.parentId);
    s.parent = parent || null;
    (parent ? parent.children : roots).push(s);
  }
  const byStart = (a, b) => a.start - b.start || b.end - a.end || a.id - b.id;
  const ordered = [], seen = new Set();
  const walk = (list) => {
    for (const s of list.sort(byStart)) {
      if (seen.has(s)) continue;
      seen.add(s);
      ordered.push(s);
      walk(s.children);
    }
  };
  walk(roots);

  const groups = new Map(), gaps = [];
  for (const s of ordered) {
    const g = groupOf(s);
    if (!groups.has(g.key)) groups.set(g.key, { ...g, spans: [], lanes: 1 });
    s.group = groups.get(g.key);
    s.depth = depthOf(s);
    s.group.spans.push(s);
    if (s.children.length) s.gaps = gapsOf(s);
    gaps.push(...s.gaps);
  }
  const rows = [...groups.values()].sort((a, b) => a.rank - b.rank || a.order - b.order || (a.key < b.key ? -1 : 1));
  for (const g of rows) {
    g.spans.sort((a, b) => a.start - b.start || a.depth - b.depth || b.end - a.end);
    g.lanes = assignLanes(g.spans);
  }
  let start = Infinity, end = -Infinity;
  for (const s of ordered) {
    start = Math.min(start, s.start);
    end = Math.max(end, s.end);
  }
  return { spans: ordered, groups: rows, gaps: gaps.sort((a, b) => b.end - b.start - (a.end - a.start)),
    devices: [...new Set(ordered.map((s) => s.device).filter(Boolean))].sort(), dropped: timeline.dropped_spans || 0, start: ordered.length ? start : 0, end: ordered.length ? end : 1 };
}

// Bytes per second of a span, when it says how much it handled.
export function rate(span) {
  return span.bytes && span.end > span.start ? span.bytes / (span.end - span.start) * 1000 : 0;
}
