// lengthwise: its kernels over memory of their module, and the package as it is imported.
import { loadKernels } from '../kernels.mjs';
import { inputs } from './rows.mjs';

/** @param variant 'simd' or 'relaxed' @param assets what gives files: see bench.mjs and page.mjs */
export async function load(variant, assets) {
  const kernels = await loadKernels(await assets.kernels(variant));
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

  return {
    name: `lengthwise ${variant}`, ours: true,
    kinds: {
      product(row) {
        const { m, n, k } = row, { a, b } = inputs(row);
        const weights = row.outIn ? Float32Array.from(b, (_, i) => b[i % k * n + Math.floor(i / k)]) : b;
        const multiply = row.outIn ? wasm.matmul_transposed : wasm.matmul;
        const [pa, pb, pc] = [kernels.place(a), kernels.place(weights), kernels.space(m * n)];
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
    },
  };
}
