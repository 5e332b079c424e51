/**
 * Makes the id of one purchase attempt: a UUIDv7 (RFC 9562 section 5.7) on the
 * server's clock, or a UUIDv4 (section 5.4) where that isn't known yet.
 *
 * crypto.randomUUID is not used: browsers offer it on secure origins only, and
 * a shop is tried out on plain http first.
 *
 * @param {number} [now] the server's time in Unix milliseconds
 * @param {(bytes: Uint8Array) => unknown} [fill] a source of random bytes
 */
export function bizId(now = NaN, fill = (bytes) => crypto.getRandomValues(bytes)) {
  const bytes = new Uint8Array(16);
  fill(bytes);
  const timed = Number.isFinite(now) && now > 0;
  if (timed) {
    // 48 bits, most significant first; beyond the 32 that shifts can take.
    let rest = Math.floor(now);
    for (let i = 5; i >= 0; i--) {
      bytes[i] = rest % 256;
      rest = Math.floor(rest / 256);
    }
  }
  bytes[6] = (bytes[6] & 0x0f) | (timed ? 0x70 : 0x40);
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
