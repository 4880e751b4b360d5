// Small llama2.c files for tests.

/** A checkpoint with the given header; weights are small and all different. */
export function checkpoint({ dim = 8, hidden = 12, layers = 2, heads = 2, kvHeads = 1, vocabulary = 300, length = 16, tied = true } = {}) {
  const kv = (dim / heads) * kvHeads;
  const count = vocabulary * dim * (tied ? 1 : 2) + layers * (2 * dim + 2 * dim * dim + 2 * kv * dim + 3 * hidden * dim) + dim + length * (dim / heads);
  const file = Buffer.alloc(28 + 4 * count);
  [dim, hidden, layers, heads, kvHeads, tied ? vocabulary : -vocabulary, length].forEach((value, i) => file.writeInt32LE(value, 4 * i));
  for (let i = 0; i < count; i++) file.writeFloatLE(Math.sin(i * 0.7) * 0.1 + 0.02, 28 + 4 * i);
  return new Uint8Array(file);
}

/** A tokenizer: the 259 usual pieces, then these with falling scores. */
export function tokenizerFile(pieces) {
  const usual = ['<unk>', '\n<s>\n', '\n</s>\n', ...Array.from({ length: 256 }, (_, i) => `<0x${i.toString(16).toUpperCase().padStart(2, '0')}>`)];
  const all = [...usual.map((text) => [text, 0]), ...pieces.map((text, i) => [text, -i])];
  const parts = [Buffer.alloc(4)];
  parts[0].writeInt32LE(Math.max(...all.map(([text]) => Buffer.byteLength(text))));
  for (const [text, score] of all) {
    const head = Buffer.alloc(8);
    head.writeFloatLE(score);
    head.writeInt32LE(Buffer.byteLength(text), 4);
    parts.push(head, Buffer.from(text));
  }
  return new Uint8Array(Buffer.concat(parts));
}
