// Drawing a span model on a canvas, and moving about in it: wheel, drag, pinch, keys.
import { duration } from "./format.js";

const LANE = 16, LANE_GAP = 1, GROUP_GAP = 7, AXIS = 26, MIN_SPAN_MS = 0.02, TAP_PX = 6;
// Spans in which nothing is computed for the job.
const WAITS = new Set(["request", "queue", "budget", "host_wait", "device_wait", "yield", "companion", "wait"]);
const VIEW_HEIGHT_MAX = 640;

function colours(el) {
  const css = getComputedStyle(el), get = (n) => css.getPropertyValue(n).trim();
  return { bg: get("--panel"), alt: get("--row"), line: get("--line"), text: get("--text"), dim: get("--dim"), gap: get("--gap"), gapBg: get("--gap-bg"), focus: get("--focus"),
    host: get("--host"), devices: [1, 2, 3, 4, 5, 6].map((i) => get("--dev" + i)), on: get("--on-span"), font: get("--font") };
}

export function deviceColour(c, model, device) {
  return device ? c.devices[model.devices.indexOf(device) % c.devices.length] : c.host;
}

export class Timeline {
  // onPick(span or gap or null, isHover) is told what the pointer or the keys are on.
  constructor(scroller, canvas, onPick) {
    this.scroller = scroller;
    this.canvas = canvas;
    this.onPick = onPick;
    this.model = null;
    this.from = 0;
    this.to = 1;
    this.isFit = true;
    this.picked = null;
    this.hovered = null;
    this.pointers = new Map();
    this.pending = 0;
    this.listen();
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(scroller);
  }

  close() {
    this.observer.disconnect();
    cancelAnimationFrame(this.pending);
  }

  setModel(model) {
    const id = this.picked && (this.picked.span ? null : this.picked.id);
    this.model = model;
    if (this.isFit) this.fit();
    this.picked = id === null ? null : model.spans.find((s) => s.id === id) || null;
    this.hovered = null;
    this.layout();
    this.draw();
  }

  // Top of each group; the canvas shows a window of this height.
  layout() {
    let y = AXIS;
    for (const g of this.model.groups) {
      g.top = y;
      y += g.lanes * (LANE + LANE_GAP) + GROUP_GAP;
    }
    this.height = y;
  }

  get gutter() {
    return this.scroller.clientWidth < 560 ? 42 : 92;
  }

  get plotWidth() {
    return Math.max(50, this.scroller.clientWidth - this.gutter - 8);
  }

  x(ms) {
    return this.gutter + (ms - this.from) / (this.to - this.from) * this.plotWidth;
  }

  ms(x) {
    return this.from + (x - this.gutter) / this.plotWidth * (this.to - this.from);
  }

  fit() {
    this.isFit = true;
    this.setRange(this.model.start, this.model.end, true);
  }

  setRange(from, to, fit) {
    const m = this.model, whole = Math.max(m.end - m.start, MIN_SPAN_MS), pad = 0.02 * whole;
    const span = Math.min(Math.max(to - from, MIN_SPAN_MS), whole + 2 * pad);
    let start = (from + to - span) / 2;
    start = Math.min(Math.max(start, m.start - pad), m.end + pad - span);
    this.from = fit ? m.start - (m.end > m.start ? 0 : pad) : start;
    this.to = fit ? m.start + whole : start + span;
    this.isFit = fit || span >= whole;
    this.draw();
  }

  zoom(factor, atMs) {
    const at = atMs === undefined ? (this.from + this.to) / 2 : atMs;
    this.setRange(at - (at - this.from) * factor, at + (this.to - at) * factor, false);
  }

  pan(share) {
    const d = share * (this.to - this.from);
    this.setRange(this.from + d, this.to + d, false);
  }

  show(item) {
    const span = item.end - item.start, pad = Math.max(0.6 * span, MIN_SPAN_MS);
    this.setRange(item.start - pad, item.end + pad, false);
    this.pick(item);
  }

  pick(item) {
    this.picked = item;
    const span = item && (item.span || item);
    if (span && span.group) {
      const top = span.group.top + span.lane * (LANE + LANE_GAP), view = this.scroller;
      if (top - AXIS < view.scrollTop) view.scrollTop = top - AXIS;
      if (top + LANE + 4 > view.scrollTop + view.clientHeight) view.scrollTop = top + LANE + 4 - view.clientHeight;
    }
    this.onPick(item, false);
    this.draw();
  }

  // ---- drawing ----

  draw() {
    if (!this.model || this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      this.paint();
    });
  }

  paint() {
    const ratio = window.devicePixelRatio || 1, width = this.scroller.clientWidth;
    const height = Math.min(VIEW_HEIGHT_MAX, this.height);
    if (width === 0) return;
    this.scroller.style.setProperty("height", height + "px");
    this.scroller.firstElementChild.style.setProperty("height", this.height + "px");
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.setProperty("width", width + "px");
      this.canvas.style.setProperty("height", height + "px");
    }
    const g = this.canvas.getContext("2d"), c = colours(this.scroller);
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.fillStyle = c.bg;
    g.fillRect(0, 0, width, height);
    g.font = "11px " + c.font;
    g.textBaseline = "middle";
    const top = this.scroller.scrollTop;
    const ticks = this.ticks();
    this.paintGrid(g, c, ticks, height);
    for (const [i, group] of this.model.groups.entries()) this.paintGroup(g, c, group, i, top, width, height);
    this.paintAxis(g, c, ticks, width);
  }

  paintGroup(g, c, group, i, top, width, height) {
    const y = group.top - top, h = group.lanes * (LANE + LANE_GAP);
    if (y > height || y + h < AXIS) return;
    if (i % 2) {
      g.fillStyle = c.alt;
      g.globalAlpha = 0.6; // the grid shows through
      g.fillRect(0, y - GROUP_GAP / 2, width, h + GROUP_GAP);
      g.globalAlpha = 1;
    }
    g.save();
    g.beginPath();
    g.rect(this.gutter, 0, width - this.gutter, height);
    g.clip();
    const painted = []; // per lane: how far; spans that add no pixel are left out
    for (const s of group.spans) {
      if (painted[s.lane] >= this.x(s.end) && s !== this.picked && s !== this.hovered) continue;
      this.paintSpan(g, c, s, y + s.lane * (LANE + LANE_GAP));
      painted[s.lane] = this.x(s.start) + Math.max(1, this.x(s.end) - this.x(s.start));
    }
    for (const s of group.spans) for (const gap of s.gaps) this.paintGap(g, c, gap, y + s.lane * (LANE + LANE_GAP));
    g.restore();
    g.fillStyle = c.text;
    g.textAlign = "left";
    g.fillText(this.gutter < 60 ? group.short.slice(0, 6) : group.label, 6, y + LANE / 2, this.gutter - 10);
  }

  paintSpan(g, c, s, y) {
    const x0 = Math.max(this.x(s.start), this.gutter - 2), x1 = Math.min(this.x(s.end), this.gutter + this.plotWidth + 10);
    const w = Math.max(x1 - x0, 1), isThin = w <= 3;
    if (x1 < this.gutter || x0 > this.gutter + this.plotWidth + 8) return;
    // Many thin spans side by side would become stripes: these fill whole pixels.
    const left = isThin ? Math.floor(x0) : x0, breadth = isThin ? Math.ceil(x0 + w) - left : w - 0.5;
    g.fillStyle = c.bg; // no grid behind pale spans
    g.fillRect(left, y, breadth, LANE);
    g.fillStyle = deviceColour(c, this.model, s.device);
    // Waiting is paler than working.
    g.globalAlpha = WAITS.has(s.name) ? 0.35 : s.children.length ? 0.62 : 1;
    g.fillRect(left, y, breadth, LANE);
    g.globalAlpha = 1;
    if (s === this.picked || s === this.hovered) {
      g.strokeStyle = c.focus;
      g.lineWidth = 2;
      g.strokeRect(x0 + 1, y + 1, Math.max(w - 2, 1), LANE - 2);
    }
    if (w > 26) {
      g.fillStyle = s.children.length || WAITS.has(s.name) ? c.text : c.on;
      g.textAlign = "left";
      g.save();
      g.beginPath();
      g.rect(x0, y, w - 3, LANE);
      g.clip();
      g.fillText(s.name + (w > 110 ? "  " + duration(s.end - s.start) : ""), x0 + 4, y + LANE / 2 + 0.5);
      g.restore();
    }
  }

  paintGap(g, c, gap, y) {
    const x0 = Math.max(this.x(gap.start), this.gutter), x1 = Math.min(this.x(gap.end), this.gutter + this.plotWidth + 10);
    if (x1 <= x0) return;
    const w = Math.max(x1 - x0, 2);
    g.save();
    g.beginPath();
    g.rect(x0, y, w, LANE);
    g.clip();
    g.fillStyle = c.gapBg;
    g.fillRect(x0, y, w, LANE);
    g.strokeStyle = c.gap;
    g.lineWidth = 1.5;
    g.beginPath();
    for (let x = Math.floor((x0 - LANE) / 6) * 6; x < x1 + LANE; x += 6) {
      g.moveTo(x, y + LANE);
      g.lineTo(x + LANE, y);
    }
    g.stroke();
    g.lineWidth = gap === this.picked || gap === this.hovered ? 4 : 2;
    g.strokeRect(x0, y, w, LANE);
    g.restore();
  }

  // Round times, about 90 px apart.
  ticks() {
    const span = this.to - this.from, wanted = Math.max(2, Math.floor(this.plotWidth / 90));
    const unit = 10 ** Math.floor(Math.log10(span / wanted));
    const step = [1, 2, 5, 10].map((k) => k * unit).find((s) => span / s <= wanted) || unit * 10, list = [];
    for (let k = Math.ceil(this.from / step); k * step <= this.to && list.length < 100; k++) list.push(Number((k * step).toPrecision(12)));
    return list;
  }

  paintGrid(g, c, ticks, height) {
    g.strokeStyle = c.line;
    g.lineWidth = 1;
    g.beginPath();
    for (const t of ticks) {
      const x = Math.round(this.x(t)) + 0.5;
      g.moveTo(x, AXIS - 8);
      g.lineTo(x, height);
    }
    g.stroke();
  }

  paintAxis(g, c, ticks, width) {
    g.fillStyle = c.bg;
    g.fillRect(0, 0, width, AXIS - 6);
    g.fillStyle = c.dim;
    g.textAlign = "center";
    for (const t of ticks) {
      const text = t === 0 ? "0" : duration(t), x = this.x(t), half = g.measureText(text).width / 2;
      if (x - half > this.gutter - 12 && x + half < width) g.fillText(text, x, 10);
    }
  }

  // ---- finding ----

  at(px, py) {
    if (!this.model || px < this.gutter) return null;
    const y = py + this.scroller.scrollTop, t = this.ms(px), slack = 2 / this.plotWidth * (this.to - this.from);
    for (const group of this.model.groups) {
      if (y < group.top || y >= group.top + group.lanes * (LANE + LANE_GAP)) continue;
      const lane = Math.floor((y - group.top) / (LANE + LANE_GAP));
      let best = null;
      for (const s of group.spans) {
        if (s.lane !== lane || t < s.start - slack || t > s.end + slack) continue;
        for (const gap of s.gaps) if (t >= gap.start - slack && t <= gap.end + slack) best = best || gap;
        if (!best || (!best.span && s.end - s.start < best.end - best.start)) best = s;
      }
      return best;
    }
    return null;
  }

  // Next or previous span in time inside the row, or the nearest one in the row above or below.
  step(dx, dy) {
    const m = this.model, now = this.picked && (this.picked.span || this.picked);
    if (!m.spans.length) return;
    if (!now) return this.pick(m.groups[0].spans[0]);
    const mid = (s) => (s.start + s.end) / 2;
    if (dx) {
      const list = now.group.spans.filter((s) => s.lane === now.lane).sort((a, b) => a.start - b.start);
      const next = list[list.indexOf(now) + dx];
      if (next) this.pick(next);
      return this.reveal();
    }
    let lane = now.lane + dy, g = m.groups.indexOf(now.group);
    if (lane < 0 || lane >= now.group.lanes) {
      g += dy;
      if (!m.groups[g]) return;
      lane = dy > 0 ? 0 : m.groups[g].lanes - 1;
    }
    const list = m.groups[g].spans.filter((s) => s.lane === lane);
    this.pick(list.reduce((a, b) => Math.abs(mid(b) - mid(now)) < Math.abs(mid(a) - mid(now)) ? b : a));
    this.reveal();
  }

  reveal() {
    const s = this.picked;
    if (s.end < this.from || s.start > this.to) this.setRange(s.start - (this.to - this.from) / 2, s.start + (this.to - this.from) / 2, false);
  }

  // ---- input ----

  listen() {
    const el = this.canvas;
    this.scroller.addEventListener("scroll", () => this.draw(), { passive: true });
    el.addEventListener("wheel", (e) => this.onWheel(e), { passive: false });
    el.addEventListener("keydown", (e) => this.onKey(e));
    el.addEventListener("pointerdown", (e) => this.onDown(e));
    el.addEventListener("pointermove", (e) => this.onMove(e));
    for (const end of ["pointerup", "pointercancel"]) el.addEventListener(end, (e) => this.onUp(e));
    el.addEventListener("pointerleave", () => this.hover(null));
    el.addEventListener("dblclick", (e) => this.zoom(0.4, this.ms(e.offsetX)));
  }

  hover(item) {
    if (item === this.hovered) return;
    this.hovered = item;
    this.onPick(item || this.picked, true);
    this.draw();
  }

  // The wheel scrolls the page until the timeline was clicked or Ctrl is held.
  onWheel(e) {
    const isZoom = e.ctrlKey || e.metaKey, isMine = isZoom || document.activeElement === this.canvas;
    if (!this.model || (!isMine && Math.abs(e.deltaX) <= Math.abs(e.deltaY))) return;
    const unit = e.deltaMode === 1 ? 16 : e.deltaMode === 2 ? 400 : 1;
    e.preventDefault();
    if (!isZoom && (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY))) this.pan((e.deltaX || e.deltaY) * unit / this.plotWidth);
    else this.zoom(Math.exp(e.deltaY * unit * 0.002), this.ms(e.offsetX));
  }

  onKey(e) {
    if (!this.model || e.altKey || e.ctrlKey || e.metaKey) return;
    const actions = {
      "+": () => this.zoom(0.6), "=": () => this.zoom(0.6), "-": () => this.zoom(1 / 0.6), "0": () => this.fit(), Home: () => this.fit(),
      a: () => this.pan(-0.25), d: () => this.pan(0.25), PageUp: () => this.pan(-0.8), PageDown: () => this.pan(0.8),
      ArrowLeft: () => e.shiftKey ? this.pan(-0.25) : this.step(-1, 0), ArrowRight: () => e.shiftKey ? this.pan(0.25) : this.step(1, 0),
      ArrowUp: () => this.step(0, -1), ArrowDown: () => this.step(0, 1),
      Enter: () => this.picked && this.show(this.picked), Escape: () => this.pick(null),
      g: () => this.model.gaps.length && this.show(this.model.gaps[(this.model.gaps.indexOf(this.picked) + 1) % this.model.gaps.length]),
    };
    if (!actions[e.key]) return;
    e.preventDefault();
    actions[e.key]();
  }

  onDown(e) {
    this.canvas.focus({ preventScroll: true });
    this.pointers.set(e.pointerId, { x: e.offsetX, y: e.offsetY, x0: e.offsetX, y0: e.offsetY });
    this.canvas.setPointerCapture(e.pointerId);
    this.moved = this.pointers.size > 1;
  }

  onMove(e) {
    const p = this.pointers.get(e.pointerId);
    if (!this.model) return;
    if (!p) return this.hover(this.at(e.offsetX, e.offsetY));
    const others = [...this.pointers.entries()].filter(([id]) => id !== e.pointerId);
    if (others.length) {
      const o = others[0][1], before = Math.abs(p.x - o.x), after = Math.abs(e.offsetX - o.x);
      if (before > 8 && after > 8) this.zoom(before / after, this.ms((e.offsetX + o.x) / 2));
    } else {
      if (Math.hypot(e.offsetX - p.x0, e.offsetY - p.y0) > TAP_PX) this.moved = true;
      if (this.moved) {
        this.pan((p.x - e.offsetX) / this.plotWidth);
        if (e.pointerType === "mouse") this.scroller.scrollTop += p.y - e.offsetY;
      }
    }
    p.x = e.offsetX;
    p.y = e.offsetY;
  }

  onUp(e) {
    const p = this.pointers.get(e.pointerId);
    this.pointers.delete(e.pointerId);
    if (p && !this.moved && e.type === "pointerup") this.pick(this.at(e.offsetX, e.offsetY));
  }
}
