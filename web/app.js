// Routing, polling, and what is on every view: health, colours, errors.
import { h, render } from "./dom.js";
import { fetchJson, token, setToken } from "./api.js";
import { duration, clock } from "./format.js";
import { overviewView } from "./overview.js";
import { jobsView } from "./jobs.js";
import { jobView } from "./job.js";

const RETRY_FIRST_MS = 2000;
const RETRY_MAX_MS = 30000;
const HEALTH_EVERY_MS = 5000;

const $ = (id) => document.getElementById(id);
const state = { view: null, timer: 0, ticker: 0, abort: null, retryMs: 0, nextAt: 0, error: null, goodAt: 0, status: null,
  statusAt: 0 };

// ---- colours ----

const THEMES = ["auto", "light", "dark"];

function applyTheme(theme) {
  document.documentElement.dataset.theme = theme;
  render($("theme"), "◐", h("span", { class: "label" }, " " + theme[0].toUpperCase() + theme.slice(1)));
  $("theme").setAttribute("aria-label", "Colours: " + (theme === "auto" ? "as the system" : theme));
}

function initTheme() {
  let theme = localStorage.getItem("cuzk-theme");
  if (!THEMES.includes(theme)) theme = "auto";
  applyTheme(theme);
  $("theme").addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    localStorage.setItem("cuzk-theme", theme);
    applyTheme(theme);
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
}

function redraw() {
  if (state.view && state.view.redraw) state.view.redraw();
}

// ---- header, footer, banner ----

function showHealth() {
  const s = state.status, el = $("health");
  let text = "connecting", cls = "";
  if (state.error) [text, cls] = state.error.status === 401 ? ["locked", "warn"] : ["no answer", "bad"];
  else if (s && s.draining) [text, cls] = ["draining", "warn"];
  else if (s && !s.ready) [text, cls] = ["warming up", "warn"];
  else if (s) [text, cls] = ["ready", "good"];
  if (el.textContent !== text) el.textContent = text;
  el.className = "pill " + cls;
  document.body.classList.toggle("stale", Boolean(state.error));
}

function showFoot() {
  const s = state.status;
  render($("foot"),
    h("span", null, s ? "cuzk " + s.version + " (" + s.commit + ")" : "cuzk"),
    h("span", null, state.goodAt ? "data of " + clock(state.goodAt) : "no data yet"),
    h("span", null, h("a", { href: "metrics" }, "metrics"), " · ", h("a", { href: "status" }, "status")));
}

function tokenForm() {
  return h("form", { class: "banner", key: "token", onsubmit: (e) => {
    e.preventDefault();
    setToken(e.target.elements.token.value.trim());
    tick();
  } },
  h("label", { for: "token" }, token() ? "The token was refused. Bearer token: " : "This daemon asks for its bearer token: "),
  h("input", { id: "token", name: "token", type: "password", autocomplete: "off", required: true }),
  h("button", { type: "submit" }, "Open"),
  h("span", { class: "dim" }, "It is kept until this tab is closed."));
}

function showBanner() {
  const e = state.error;
  if (!e) return render($("banner"));
  if (e.status === 401) return render($("banner"), tokenForm());
  const wait = Math.max(0, Math.ceil((state.nextAt - Date.now()) / 1000));
  render($("banner"), h("div", { class: "banner bad", key: "error" },
    h("span", { role: "alert" }, h("strong", null, e.status ? "The daemon answered with an error: " : "No connection: "), e.message + ". "),
    h("span", { class: "dim" }, state.goodAt ? "What you see is " + duration(Math.floor((Date.now() - state.goodAt) / 1000) * 1000) + " old. " : "",
      document.hidden ? "" : "Next try in " + wait + " s. "),
    h("button", { type: "button", onclick: () => tick() }, "Try now")));
}

// ---- polling ----

function schedule(ms) {
  clearTimeout(state.timer);
  state.nextAt = Date.now() + ms;
  if (!document.hidden) state.timer = setTimeout(tick, ms);
}

async function loadStatus(signal) {
  if (state.status && state.view.name !== "overview" && Date.now() - state.statusAt < HEALTH_EVERY_MS) return;
  state.status = await fetchJson("status", signal);
  state.statusAt = Date.now();
}

async function tick() {
  clearTimeout(state.timer);
  if (state.abort) state.abort.abort();
  const abort = state.abort = new AbortController(), view = state.view;
  try {
    await loadStatus(abort.signal);
    await view.load(abort.signal, state.status);
    if (abort.signal.aborted) return;
    state.error = null;
    state.goodAt = Date.now();
    state.retryMs = 0;
    view.render(state.status);
    schedule(view.everyMs());
  } catch (e) {
    if (abort.signal.aborted) return;
    if (e.status === undefined) console.error(e); // a fault of this page, not of the daemon
    state.error = e.status === undefined ? Object.assign(e, { status: -1 }) : e;
    state.retryMs = Math.min(RETRY_MAX_MS, state.retryMs ? state.retryMs * 2 : RETRY_FIRST_MS);
    if (view.showError) view.showError(e);
    if (e.status === 401) state.nextAt = 0;
    else schedule(state.retryMs);
  }
  showHealth();
  showFoot();
  showBanner();
}

document.addEventListener("visibilitychange", () => {
  clearTimeout(state.timer);
  if (document.hidden) {
    if (state.abort) state.abort.abort();
  } else if (state.view) {
    tick();
  }
});

setInterval(() => {
  if (state.error && state.error.status !== 401 && !document.hidden) showBanner();
}, 1000);

// ---- routes ----

function makeView(hash) {
  const main = $("main"), path = hash.replace(/^#/, "") || "/";
  if (path.startsWith("/job/")) {
    let id = path.slice("/job/".length);
    try {
      id = decodeURIComponent(id);
    } catch {
      // shown as it is; the daemon will not know it
    }
    return jobView(main, id);
  }
  return path.split("?")[0] === "/jobs" ? jobsView(main, () => tick()) : overviewView(main);
}

function onRoute() {
  if (location.hash === "#main") return; // the skip link
  if (state.view && state.view.close) state.view.close();
  render($("main"), h("p", { class: "empty" }, "Loading"));
  state.view = makeView(location.hash);
  for (const name of ["overview", "jobs"]) {
    if (state.view.section === name) $("nav-" + name).setAttribute("aria-current", "page");
    else $("nav-" + name).removeAttribute("aria-current");
  }
  document.title = state.view.title + " · cuzk";
  window.scrollTo(0, 0);
  state.retryMs = 0;
  tick();
}

$("skip").addEventListener("click", (e) => {
  e.preventDefault();
  $("main").focus();
});
window.addEventListener("hashchange", onRoute);
initTheme();
onRoute();
