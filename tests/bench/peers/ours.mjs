// lengthwise: its kernels over memory of their module, and the package as it is imported.
import { loadKernels, loadThreadedKernels } from '../kernels.mjs';
import { checkpoint } from './llama.mjs';
import { checkedSteps, inputs, outIn, stepsEach } from './rows.mjs';

/** The file of a model with given weights: that of one with others, written over. */
function fileOf(lw, { vocabulary, width, layers, heads, hidden, length, activation }, weights) {
  const drawn = lw.model({ vocabulary, width, layers, heads, hidden, trainedLength: length, activation, encoding: 'rope:pairing=half' });
  const file = drawn.save(), size = Number(new DataView(file.buffer).getBigUint64(0, true));
  drawn.dispose();
  for (const [name, { data_offsets: offsets }] of Object.entries(JSON.parse(new TextDecoder().decode(file.subarray(8, 8 + size))))) {
    if (!offsets) continue;
    const values = name.split('.').reduce((found, part) => found[part], weights);
    if (values.byteLength !== offsets[1] - offsets[0]) throw new Error(`${name} has ${offsets[1] - offsets[0]} bytes`);
    file.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), 8 + size + offsets[0]);
  }
  return file;
}

const training = { learningRate: 3e-3, warmup: 0, minimumRatio: 1, weightDecay: 0, clip: 0 };

function generating(lw, row, count) {
  const { weights, prompt } = inputs(row);
  const model = lw.loadModel(checkpoint(row.config, weights));
  if (row.spec && row.spec !== 'f32') model.quantize(row.spec);
  let tokens;
  const run = async () => {
    tokens = [];
    for await (const token of model.generate(prompt, { tokens: count, temperature: 0 })) tokens.push(token);
  };
  return { run, result: () => Float32Array.from(tokens), dispose: () => model.dispose() };
}

/** @param variant 'simd' or 'relaxed' @param assets what gives files: see bench.mjs and page.mjs */
export async function load(variant, assets, threads = 1) {
  const kernels = threads > 1 ? await loadThreadedKernels(await assets.threadedKernels(variant), threads) : await loadKernels(await assets.kernels(variant));
  const { wasm } = kernels;

  const work = (size, out, run, blocks, site) => ({
    run, result: () => kernels.copyOut(out(), size),
    dispose() { kernels.release(...blocks); if (site) wasm.site_release(site); },
  });
  const planned = (spec, { heads, headDim, length }) => {
    const site = kernels.site(spec, { heads, headDim, length });
    if (!wasm.plan(site, length)) throw new Error('out of memory');
    return site;
  };
  const biased = (row) => {
    const site = planned(row.encoding, row);
    if (row.encoding === 't5') kernels.view(wasm.site_parameters(site), row.heads * 32).set(inputs(row).table);
    wasm.plan(site, row.length);
    return site;
  };

  let loading;
  const lengthwise = () => loading ??= assets.lengthwise().then(({ load }) => load({ variant, threads }));

  return {
    name: `lengthwise ${variant}${threads > 1 ? `, ${threads} threads` : ''}`, ours: true, threads,
    kinds: {
      product(row) {
        const { m, n, k } = row, { a, b } = inputs(row);
        const multiply = row.outIn ? wasm.matmul_transposed : wasm.matmul;
        const [pa, pb, pc] = [kernels.place(a), kernels.place(row.outIn ? outIn(row) : b), kernels.space(m * n)];
        return work(m * n, () => pc, () => multiply(m, n, k, pa, pb, pc), [pa, pb, pc]);
      },
      attention(row) {
        const { length, spec = 'nope' } = row, { q, k, v } = inputs(row);
        const site = planned(spec, row);
        const [pq, pk, pv, out] = [kernels.place(q), kernels.place(k), kernels.place(v), kernels.space(q.length)];
        return work(q.length, () => out, () => { if (!wasm.attend(site, length, pq, pk, pv, out)) throw new Error('out of memory'); }, [pq, pk, pv, out], site);
      },
      rotate(row) { // in place: back and forth would need a second call, so only the first turn is the one that is checked
        const { length } = row, { x } = inputs(row);
        const site = planned('rope:pairing=half', row);
        const at = kernels.place(x);
        let first;
        const run = () => {
          wasm.turn(site, length, at);
          first ??= kernels.copyOut(at, x.length);
        };
        return { ...work(x.length, () => at, run, [at], site), result: () => first };
      },
      peak({ steps }) {
        let sum;
        return { run: () => { sum = wasm.chains(steps, 0.5); }, result: () => Float32Array.of(sum) };
      },
      copy(row) {
        const { x } = inputs(row);
        const [from, to] = [kernels.place(x), kernels.space(x.length)];
        return work(x.length, () => to, () => wasm.copy(to, from, x.byteLength), [from, to]);
      },
      sinusoidal({ length, width }) {
        const site = kernels.site('sinusoidal:layout=concatenated', { heads: 1, headDim: width, length });
        return work(length * width, () => wasm.plan_input(site), () => wasm.plan(site, length), [], site);
      },
      bias(row) {
        const size = row.heads * row.length ** 2;
        const site = biased(row), out = kernels.space(size);
        return work(size, () => out, () => { wasm.plan(site, row.length), wasm.write_bias(site, row.length, out); }, [out], site);
      },
      distances(row) {
        const { heads, length } = row;
        const site = biased(row), square = kernels.space(heads * length ** 2);
        return {
          run: () => wasm.plan(site, length),
          result() { // the last query's row holds every distance
            wasm.write_bias(site, length, square);
            const dense = kernels.view(square, heads * length ** 2);
            return Float32Array.from({ length: heads * length }, (_, n) => dense[(Math.floor(n / length) * length + length - 1) * length + length - 1 - n % length]);
          },
          dispose() { kernels.release(square), wasm.site_release(site); },
        };
      },
      async training({ config, batch, ...row }) {
        const { weights, tokens } = inputs({ config, batch, ...row });
        const lw = await lengthwise(), model = lw.loadModel(fileOf(lw, config, weights));
        const trainer = model.trainer(training);
        const step = () => trainer.step(tokens, { batch, length: config.length }).loss;
        const first = step();
        let last;
        for (let i = 0; i < checkedSteps; i++) last = step();
        return { run: step, result: () => Float32Array.of(first, last < 0.9 * first), dispose: () => model.dispose() };
      },
      // Two models take steps of their own, in a worker each or in one.
      async side({ config, batch, spec, ...row }) {
        const { weights, tokens } = inputs({ config, batch, ...row });
        const file = fileOf(await lengthwise(), config, weights), { load } = await assets.worker();
        const workers = await Promise.all(Array.from({ length: Number(spec.split(' ')[0]) }, () => load({ variant })));
        const trainers = await Promise.all([0, 1].map(async (n) => {
          const model = await workers[n % workers.length].loadModel(file);
          return model.trainer(training);
        }));
        const step = (trainer) => trainer.step(tokens, { batch, length: config.length });
        const first = await Promise.all(trainers.map(step));
        const run = () => Promise.all(trainers.map(async (trainer) => { for (let i = 0; i < stepsEach; i++) await step(trainer); }));
        return { run, result: () => Float32Array.from(first, ({ loss }) => loss), dispose: () => workers.forEach((worker) => worker.terminate()) };
      },
      decode: async (row) => generating(await lengthwise(), row, row.tokens),
      prefill: async (row) => generating(await lengthwise(), row, 1),
    },
  };
}
