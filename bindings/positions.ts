// Position ids of padded rows.

import * as check from './check.js';

/**
 * The position of each token of one padded row, and the one that the next token gets: padding, on either side, is not
 * counted. RoBERTa and OPT start at 2 (`{ first: 2 }`); for RoBERTa the mask is `ids.map((id) => id !== pad)`.
 * @param mask 1 or true: a token; 0 or false: padding.
 * @param options `first`: the first token's position (default 0); padding gets the one before it, or 0. `rows`: how many
 * the model's table has, to be refused here and not read past.
 */
export function positionsFromMask(
  mask: ArrayLike<number | bigint | boolean>, options: { first?: number; rows?: number } = {},
): { positions: Int32Array<ArrayBuffer>; next: number } {
  check.keys('positionsFromMask options', options, ['first', 'rows']);
  if (!Array.isArray(mask) && !ArrayBuffer.isView(mask)) throw new TypeError(`mask must be an array, not ${check.describe(mask)}`);
  const first = check.integer('first', options.first ?? 0, 0, check.MOST - mask.length);
  let next = first;
  const positions = Int32Array.from(mask, (seen, i) => {
    if (!['number', 'bigint', 'boolean'].includes(typeof seen)) throw new TypeError(`mask[${i}] must be 0 or 1, not ${check.describe(seen)}`);
    const bit = Number(seen);
    if (bit !== 0 && bit !== 1) throw new RangeError(`mask[${i}] is ${check.shorten(String(seen))}; it must be 0 or 1`);
    return bit ? next++ : Math.max(first - 1, 0);
  });
  if (options.rows !== undefined && next > check.count('rows', options.rows)) {
    throw new RangeError(`mask has ${next - first} tokens; a table of ${options.rows} rows holds ${options.rows - first} when the first is ${first}`);
  }
  return { positions, next };
}
