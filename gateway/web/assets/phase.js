/**
 * Where a sale stands at a moment of the server's clock. The window is applied
 * here, so that the page turns at the second and not at the next refresh; pause,
 * end and sold out are the shop's to say.
 *
 * @param {{state: string, starts_at: number, ends_at: number}} item
 * @param {number} now the server's time; NaN while it isn't known
 * @returns {'unsure'|'upcoming'|'open'|'paused'|'sold_out'|'ended'}
 */
export function phase(item, now) {
  if (item.state === 'ended' || now >= item.ends_at) return 'ended';
  if (item.state === 'paused' || item.state === 'sold_out') return item.state;
  if (Number.isNaN(now)) return 'unsure';
  return now < item.starts_at ? 'upcoming' : 'open';
}
