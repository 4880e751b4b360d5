// onnxruntime-web with its WebAssembly backend. Inputs are constants of the model and the result stays inside (only a
// sliver comes out), so that nothing is copied over the boundary while the clock runs.
import * as ort from 'onnxruntime-web/wasm';
import { model } from './onnx.mjs';
import { inputs } from './rows.mjs';

const integers = (...values) => ({ shape: [values.length], data: BigInt64Array.from(values, BigInt) });
const floats = (data, ...shape) => ({ shape, data });

/** Runs the nodes, which leave `y`, sliced along its axis 0. */
async function session(nodes, constants, opset) {
  const bytes = model({
    nodes: [...nodes, ['Slice', ['y', 'slice from', 'slice to', 'slice axes'], ['sliver']]],
    constants: { ...constants, 'slice from': integers(0), 'slice to': integers(1), 'slice axes': integers(0) },
    outputs: { y: {}, sliver: {} }, opset,
  });
  // Optimised, everything would be computed once, when the model is read.
  const made = await ort.InferenceSession.create(bytes, { executionProviders: ['wasm'], graphOptimizationLevel: 'disabled', logSeverityLevel: 4 });
  const fetch = async (name) => {
    const { [name]: out } = await made.run({}, [name]);
    return out.data;
  };
  return { run: () => fetch('sliver'), result: () => fetch('y'), dispose: () => void made.release() };
}

function attentionGraph({ length, heads, headDim }) {
  const split = (name) => [['Reshape', [name, 'split'], [`${name}_`]],
    ['Transpose', [`${name}_`], [`${name}h`], { perm: name === 'k' ? [1, 2, 0] : [1, 0, 2] }]];
  const mask = new Float32Array(length * length);
  for (let i = 0; i < length; i++) mask.fill(-1e30, i * length + i + 1, (i + 1) * length);
  return {
    nodes: [...split('q'), ...split('k'), ...split('v'), ['MatMul', ['qh', 'kh'], ['s']],
      ['Mul', ['s', 'scale'], ['scaled']], ['Add', ['scaled', 'mask'], ['masked']], ['Softmax', ['masked'], ['w'], { axis: -1 }],
      ['MatMul', ['w', 'vh'], ['zh']], ['Transpose', ['zh'], ['z'], { perm: [1, 0, 2] }], ['Reshape', ['z', 'join'], ['y']]],
    constants: { split: integers(length, heads, headDim), join: integers(length, heads * headDim),
      scale: floats(Float32Array.of(headDim ** -0.5)), mask: floats(mask, length, length) },
  };
}

export async function load(assets) {
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.proxy = false;
  ort.env.logLevel = 'error';
  if (assets.ortPaths) ort.env.wasm.wasmPaths = assets.ortPaths;
  return {
    forms: { attention: ['fused', 'graph'] },
    name: 'onnxruntime-web',
    kinds: {
      product(row) {
        const { m, n, k } = row, { a, b } = inputs(row);
        return session([['MatMul', ['a', 'b'], ['y']]], { a: floats(a, m, k), b: floats(b, k, n) });
      },
      attention(row) {
        const { length, heads, headDim, form = 'fused' } = row, { q, k, v } = inputs(row), width = heads * headDim;
        if (form === 'graph') {
          const { nodes, constants } = attentionGraph(row);
          return session(nodes, { ...constants, q: floats(q, length, width), k: floats(k, length, width), v: floats(v, length, width) });
        }
        return session([['MultiHeadAttention', ['q', 'k', 'v'], ['y'], { domain: 'com.microsoft', num_heads: heads, unidirectional: 1 }]],
          { q: floats(q, 1, length, width), k: floats(k, 1, length, width), v: floats(v, 1, length, width) });
      },
      rotate(row) {
        const { length, heads, headDim } = row, half = headDim / 2, { x } = inputs(row);
        const angle = (t, p) => t * 10000 ** (-2 * p / headDim);
        const table = (f) => floats(Float32Array.from({ length: length * half }, (_, n) => f(angle(Math.floor(n / half), n % half))), length, half);
        return session([['RotaryEmbedding', ['x', 'first', 'cos', 'sin'], ['y'], { domain: 'com.microsoft', interleaved: 0 }]],
          { x: floats(x, 1, length, heads * headDim), first: integers(0), cos: table(Math.cos), sin: table(Math.sin) });
      },
      sinusoidal({ length, width }) {
        const half = width / 2;
        const nodes = [['Mul', ['position', 'frequency'], ['angle']], ['Sin', ['angle'], ['sine']], ['Cos', ['angle'], ['cosine']],
          ['Concat', ['sine', 'cosine'], ['y'], { axis: 1 }]];
        return session(nodes, {
          position: floats(Float32Array.from({ length }, (_, p) => p), length, 1),
          frequency: floats(Float32Array.from({ length: half }, (_, k) => 10000 ** (-2 * k / width)), 1, half),
        });
      },
      bias(row) {
        const { encoding, heads, length } = row, { table } = inputs(row);
        const position = Float32Array.from({ length }, (_, p) => p);
        const differences = [['Sub', ['query', 'key'], ['difference']], ['Abs', ['difference'], ['distance']]];
        const constants = { query: floats(position, 1, length, 1), key: floats(position, 1, 1, length) };
        if (encoding === 'alibi') {
          return session([...differences, ['Mul', ['distance', 'slope'], ['y']]],
            { ...constants, slope: floats(Float32Array.from({ length: heads }, (_, h) => -(2 ** (-8 * (h + 1) / heads))), heads, 1, 1) });
        }
        // T5 as its exporters write it: both branches of the bucket, then the embedding, then the heads to the front.
        const scalar = (x) => floats(Float32Array.of(x));
        return session([...differences, ['Max', ['distance', 'one'], ['positive']], ['Div', ['positive', 'sixteen'], ['ratio']], ['Log', ['ratio'], ['log']],
          ['Mul', ['log', 'factor'], ['far0']], ['Add', ['far0', 'almost'], ['far1']], ['Floor', ['far1'], ['far2']], ['Min', ['far2', 'last'], ['far']],
          ['Less', ['distance', 'sixteen'], ['near']], ['Where', ['near', 'distance', 'far'], ['bucket_f']], ['Cast', ['bucket_f'], ['bucket'], { to: 7 }],
          ['Squeeze', ['bucket', 'axis'], ['bucket2']], ['Gather', ['table', 'bucket2'], ['embedded']], ['Transpose', ['embedded'], ['y'], { perm: [2, 0, 1] }]], {
          ...constants, one: scalar(1), sixteen: scalar(16), factor: scalar(16 / Math.log(8)), almost: scalar(16 + 1e-4),
          last: scalar(31), axis: integers(0), table: floats(table, 32, heads),
        });
      },
    },
  };
}
