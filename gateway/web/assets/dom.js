/** Makes elements. Text stays text: nothing here parses markup. */

/**
 * @param {string} tag
 * @param {Record<string, string | boolean>} [attributes] true sets an empty one, false none
 * @param {...(Node | string)} children
 */
export function h(tag, attributes = {}, ...children) {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false) el.setAttribute(name, value === true ? '' : value);
  }
  el.append(...children);
  return el;
}

/** Sets an element's text, touching the document only where it differs. */
export function setText(el, text) {
  if (el.textContent !== text) el.textContent = text;
}
