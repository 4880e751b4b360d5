// The figures of the foundation: time to ready, size on the wire, training steps a second.
//   node tests/bench/foundation.mjs            prints a table
// Build first (npm run build). One thread; best and median of several rounds.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { brotliCompressSync, constants } from 'node:zlib';

const dist = new URL('../../dist/', import.meta.url);
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

// A fresh process each time: a second load in the same one finds everything warm.
const script = `const t = performance.now(); const { load } = await import('${new URL('index.js', dist)}'); await load(); console.log(performance.now() - t)`;
const ready = Array.from({ length: 9 }, () => Number(execFileSync(process.execPath, ['--input-type=module', '-e', script])));
console.log(`import to ready in Node: median ${median(ready).toFixed(1)} ms, best ${Math.min(...ready).toFixed(1)} ms`);

const brotli = (name) => brotliCompressSync(readFileSync(new URL(name, dist)), { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }).length;
for (const name of ['lengthwise.wasm', 'lengthwise.mjs', 'lengthwise-relaxed.wasm'])
  console.log(`${name}: ${(brotli(name) / 1024).toFixed(0)} KB brotli`);

const { load } = await import(new URL('index.js', dist));
const lw = await load();
const [batch, length, vocabulary] = [16, 64, 256];
const tokens = Int32Array.from({ length: batch * (length + 1) }, (_, i) => (i * 7919) % vocabulary);
for (const encoding of ['nope', 'rope', 'alibi', 't5', 'cope']) {
  const model = lw.model({ vocabulary, width: 64, layers: 4, heads: 4, trainedLength: length, encoding }, { seed: 1 });
  const trainer = model.trainer({ steps: 1000 });
  for (let i = 0; i < 10; i++) trainer.step(tokens, { batch, length });
  const rates = Array.from({ length: 7 }, () => {
    const started = performance.now();
    for (let i = 0; i < 10; i++) trainer.step(tokens, { batch, length });
    return 10_000 / (performance.now() - started);
  });
  console.log(`training step, ${model.parameterCount} parameters, ${encoding}, ${batch} × ${length} tokens, ${lw.variant}: ` +
    `median ${median(rates).toFixed(1)} steps/s, best ${Math.max(...rates).toFixed(1)}`);
  model.dispose();
}
