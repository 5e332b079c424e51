/**
 * Rushgate's browser module: the server's clock, a countdown on it, and a
 * purchase that can be repeated without buying twice.
 *
 * A shop uses it in its own page, without a build step:
 *
 *     <script type="module">
 *       import { ServerClock, Ledger, countdown, buy } from '/_rushgate/rushgate.js';
 *
 *       const clock = new ServerClock().start();
 *       countdown(document.querySelector('#count'), clock, sale.starts_at, {
 *         reached: () => { button.disabled = false; },
 *       });
 *       button.onclick = async () => {
 *         button.disabled = true;
 *         const end = await buy(sale.item, { clock, user: shop.userId });
 *         // end.kind: 'order' | 'refused' | 'failed' | 'unknown'
 *       };
 *       // Left in the middle of a purchase? Then ask how it ended, at once.
 *       if (new Ledger().pending(shop.userId, sale.item)?.unsure) button.click();
 *     </script>
 *
 * With a prefix the module is at /PREFIX/_rushgate/rushgate.js and finds
 * Rushgate's other paths from its own address; there is nothing to set.
 *
 * All times are milliseconds; those of the server count from the Unix epoch.
 *
 * @module rushgate
 */
export { ServerClock } from './clock.js';
export { clockFace, countdown } from './countdown.js';
export { bizId } from './bizid.js';
export { Ledger } from './ledger.js';
export { Purchase, buy } from './purchase.js';
