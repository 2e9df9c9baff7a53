// Numbers for people.

const plain = new Intl.NumberFormat("en");

export function count(n) {
  return plain.format(n || 0);
}

export function plural(n, noun) {
  return count(n) + " " + noun + (n === 1 ? "" : "s");
}

function fixed(x) {
  return x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2);
}

// 0.4 ms, 812 ms, 5.80 s, 3 min 20 s, 2 h 14 min, 3 d 4 h
export function duration(ms) {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return "–";
  if (ms < 0) return "−" + duration(-ms);
  if (ms === 0) return "0 ms";
  if (ms < 1) return ms.toFixed(2) + " ms";
  if (ms < 10) return Number(ms.toFixed(1)) + " ms";
  if (ms < 999.5) return Math.round(ms) + " ms";
  if (ms < 59950) return fixed(ms / 1000) + " s";
  const s = Math.round(ms / 1000), min = Math.floor(s / 60), hours = Math.floor(min / 60);
  const two = (a, unit, b, small) => a + unit + (b ? " " + b + small : "");
  if (min < 60) return two(min, " min", s % 60, " s");
  if (hours < 48) return two(hours, " h", min % 60, " min");
  return two(Math.floor(hours / 24), " d", hours % 24, " h");
}

export function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let u = 0, x = n || 0;
  while (x >= 1024 && u < units.length - 1) {
    x /= 1024;
    u++;
  }
  return (u === 0 ? x : Number(x.toFixed(x >= 100 ? 0 : 1))) + " " + units[u];
}

export function percent(share) {
  if (!Number.isFinite(share)) return "–";
  // All is 100 %, and nothing less is; nothing is 0 %, and nothing more is.
  if (share > 0 && share < 0.0005) return "< 0.1 %";
  const near = share < 0.0995 || (share >= 0.995 && share < 1);
  return (near ? Math.min(share < 1 ? 99.9 : 100, Number((100 * share).toFixed(1))) : Math.round(100 * share)) + " %";
}

export function clock(unixMs) {
  return unixMs ? new Date(unixMs).toLocaleTimeString("en-GB") : "–";
}

export function dateTime(unixMs) {
  if (!unixMs) return "–";
  const d = new Date(unixMs), two = (x) => String(x).padStart(2, "0");
  return d.getFullYear() + "-" + two(d.getMonth() + 1) + "-" + two(d.getDate()) + " " + clock(unixMs);
}

export function ago(nowMs, thenMs) {
  return thenMs ? duration(Math.max(0, nowMs - thenMs)) + " ago" : "–";
}

const KINDS = {
  "porep-c2": "PoRep", "winning-post": "WinningPoSt", "window-post": "WindowPoSt", "snap-update": "SnapDeals",
};

export const KIND_IDS = Object.keys(KINDS);

export function kind(id) {
  return KINDS[id] || id || "–";
}
