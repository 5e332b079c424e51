/** Small things the sale page remembers between visits, where the browser lets it. */

/** @returns {string | null} */
export function recall(name) {
  try {
    return localStorage.getItem(`rushgate:${name}`);
  } catch {
    return null;
  }
}

export function remember(name, value) {
  try {
    localStorage.setItem(`rushgate:${name}`, value);
  } catch {
    // Not remembered, then.
  }
}
