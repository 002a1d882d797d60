// Describes and updates the page. A view turns data into descriptions of elements (h), and patch updates
// a part of the page to match. Elements that are still described stay, so that a refresh removes
// neither the focus nor typed text. Text becomes only text nodes, and a link leads
// only to http(s), to a place within the dashboard, or to a blob that it made.

const SVG = "http://www.w3.org/2000/svg";
const LINK = /^(https?:\/\/|#|blob:)/i;

/** Properties that the user changes too: set only when the description changes. */
const PROPERTIES = new Set(["value", "checked", "indeterminate", "open", "selected"]);

/** The description to which an element was last updated. */
const drawn = new WeakMap();

/**
 * Describes an element. In props, key identifies it among its siblings, on maps events to listeners,
 * and the others are attributes; null, undefined and false leave one out. Children are descriptions and
 * texts, nested to any depth; null, undefined and booleans are left out.
 */
export function h(tag, props, ...children) {
  return {
    tag,
    props: props ?? {},
    children: children.flat(Infinity).filter((c) => c !== null && c !== undefined && typeof c !== "boolean"),
  };
}

/** Updates the children of parent to match the descriptions. */
export function patch(parent, children) {
  const before = [...parent.childNodes];
  const keyed = new Map(before.filter(keyOf).map((node) => [keyOf(node), node]));
  const plain = before.filter((node) => !keyOf(node));
  const nodes = children.map((child) => {
    const old = child.props?.key ? keyed.get(child.props.key) : plain.shift();
    const node = old && alike(old, child) ? old : create(child, parent);
    update(node, child);
    return node;
  });
  const wanted = new Set(nodes);
  for (const node of before) if (!wanted.has(node)) node.remove();
  let at = parent.firstChild;
  for (const node of nodes) {
    if (node === at) at = at.nextSibling;
    else parent.insertBefore(node, at);
  }
}

const keyOf = (node) => drawn.get(node)?.props.key;

const alike = (node, child) => (child.tag ? drawn.get(node)?.tag === child.tag : node.nodeType === Node.TEXT_NODE);

function create(child, parent) {
  if (!child.tag) return document.createTextNode("");
  return child.tag === "svg" || parent.namespaceURI === SVG
    ? document.createElementNS(SVG, child.tag)
    : document.createElement(child.tag);
}

function update(node, child) {
  if (!child.tag) {
    if (node.data !== String(child)) node.data = String(child);
    return;
  }
  const before = drawn.get(node)?.props ?? {};
  drawn.set(node, child);
  patch(node, child.children); // first, since the value of a select needs its options
  for (const name of new Set([...Object.keys(before), ...Object.keys(child.props)])) {
    if (name === "on") listen(node, child.props.on ?? {});
    else if (name !== "key" && before[name] !== child.props[name]) set(node, name, child.props[name]);
  }
}

function set(node, name, value) {
  if (PROPERTIES.has(name)) node[name] = value ?? (name === "value" ? "" : false);
  else if (value === null || value === undefined || value === false || (name === "href" && !LINK.test(value)))
    node.removeAttribute(name);
  else node.setAttribute(name, value === true ? "" : value);
}

const listening = new WeakMap();

/** Adds one listener per event, which calls the listener in the current description. */
function listen(node, on) {
  const types = listening.get(node) ?? new Set();
  listening.set(node, types);
  for (const type of Object.keys(on)) {
    if (types.has(type)) continue;
    types.add(type);
    node.addEventListener(type, (event) => drawn.get(node).props.on?.[type]?.(event));
  }
}
