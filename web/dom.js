// Building and updating the page. h() describes elements; render() changes the document to match, keeping
// elements that stay (and with them focus, selection and scroll positions). All text goes in as text nodes.

export function h(tag, attrs, ...children) {
  const flat = children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false);
  return { tag, attrs: attrs || {}, children: flat };
}

// Attributes of h(): on* are listeners, style is an object of properties (custom ones too), true and false switch,
// key names an element among its siblings, keep leaves the children to someone else.
function setAttr(el, name, value) {
  if (name === "key" || name === "keep") return;
  if (name.startsWith("on")) {
    el[name.toLowerCase()] = value || null;
  } else if (name === "style") {
    for (const [k, v] of Object.entries(value || {}))
      if (el.style.getPropertyValue(k) !== String(v)) el.style.setProperty(k, v);
  } else if (name === "value" || name === "checked") {
    if (el[name] !== value && el !== document.activeElement) el[name] = value;
  } else if (value === false || value === null || value === undefined) {
    el.removeAttribute(name);
  } else if (el.getAttribute(name) !== String(value === true ? "" : value)) {
    el.setAttribute(name, value === true ? "" : value);
  }
}

function create(node) {
  if (typeof node !== "object") return document.createTextNode(String(node));
  const el = document.createElement(node.tag);
  el.vnode = { tag: node.tag, attrs: {}, children: [] };
  patch(el, node);
  return el;
}

function matches(dom, node) {
  if (!dom) return false;
  if (typeof node !== "object") return dom.nodeType === Node.TEXT_NODE;
  return dom.nodeType === Node.ELEMENT_NODE && dom.vnode && dom.vnode.tag === node.tag &&
    dom.vnode.attrs.key === node.attrs.key;
}

function patchChildren(el, nodes) {
  let at = el.firstChild;
  for (const node of nodes) {
    let found = at;
    if (!matches(found, node) && typeof node === "object" && node.attrs.key !== undefined)
      while (found && !matches(found, node)) found = found.nextSibling;
    if (matches(found, node)) {
      if (found !== at) el.insertBefore(found, at);
      else at = at.nextSibling;
      if (typeof node === "object") patch(found, node);
      else if (found.data !== String(node)) found.data = String(node);
    } else {
      el.insertBefore(create(node), at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

function patch(el, node) {
  const old = el.vnode ? el.vnode.attrs : {};
  for (const name of Object.keys(old)) if (!(name in node.attrs)) setAttr(el, name, null);
  el.vnode = node;
  if (!node.attrs.keep) patchChildren(el, node.children);
  for (const [name, value] of Object.entries(node.attrs)) setAttr(el, name, value);
}

export function render(el, ...children) {
  patchChildren(el, h("x", null, ...children).children);
}

// ---- pieces used by several views ----

export function card(title, attrs, ...children) {
  const id = "card-" + title.toLowerCase().replace(/[^a-z]+/g, "-");
  return h("section", { class: "card", "aria-labelledby": id, ...attrs }, h("h2", { id }, title), ...children);
}

export function bar(share, label, kind) {
  const percent = Math.round(100 * Math.min(1, Math.max(0, share || 0)));
  return h("div", { class: "bar " + (kind || ""), role: "progressbar", "aria-label": label,
    "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": percent },
  h("div", { class: "fill", style: { width: percent + "%" } }));
}

export function badge(state) {
  return h("span", { class: "badge s-" + state }, state);
}

// Pairs of name and value; those without a value are left out.
export function facts(pairs) {
  return h("dl", { class: "facts" }, pairs.filter(([, v]) => v !== null && v !== undefined && v !== "")
    .map(([name, v]) => h("div", { key: name }, h("dt", null, name), h("dd", null, v))));
}

export function jobLink(id) {
  return h("a", { href: jobHref(id), class: "id", title: id }, id);
}

export function jobHref(id) {
  return "#/job/" + encodeURIComponent(id);
}
