/** Evenly spread in −1 … 1, the same for the same seed. */
export function numbers(count, seed) {
  let state = seed * 2654435761 >>> 0;
  return Float32Array.from({ length: count }, () => {
    state = state + 0x6d2b79f5 >>> 0;
    let x = Math.imul(state ^ state >>> 15, state | 1);
    x ^= x + Math.imul(x ^ x >>> 7, x | 61);
    return ((x ^ x >>> 14) >>> 0) / 2 ** 31 - 1;
  });
}
