// From the import to the first thing that works, in a process of its own: prints milliseconds.  node start.mjs <contender>
import { model } from './onnx.mjs';

const dist = '../../../dist/index.js';
const starts = {
  simd: async () => (await import(dist)).load({ variant: 'simd' }),
  relaxed: async () => (await import(dist)).load({ variant: 'relaxed' }),
  ort: async () => {
    const ort = await import('onnxruntime-web/wasm');
    ort.env.wasm.numThreads = 1;
    await ort.InferenceSession.create(tiny);
  },
  tfjs: async () => {
    const tf = await import('@tensorflow/tfjs-core');
    await import('@tensorflow/tfjs-backend-wasm');
    await tf.setBackend('wasm');
    await tf.ready();
  },
  jax: async () => (await import('@jax-js/jax')).init('wasm'),
};
const tiny = model({ nodes: [['Neg', ['x'], ['y']]], inputs: { x: { shape: [1] } }, outputs: { y: {} } });

const started = performance.now();
await starts[process.argv[2]]();
console.log(performance.now() - started);
process.exit();
