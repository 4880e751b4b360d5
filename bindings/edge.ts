// How values cross to the WebAssembly module (edge.h is the other side), and what the module asks of JavaScript.

import type { Core, ModelRequest, NativeDefinition, NativeEncoder, NativeModel, NativeRun, NativeTables, RunRequest, ShapeRequest, TrainRequest } from './core.js';
import { borrow, type Scratch } from './memory.js';

type Value = number | boolean | string;
type Call = (...args: any[]) => any;
type Calls = Record<string, Call>;

// The fields of requests in the order of their structs (requests.h).
const shapeFields = (r: ShapeRequest): Value[] => [r.heads, r.kvHeads, r.headDim, r.width, r.trainedLength, r.causal];
const modelFields = (r: ModelRequest): Value[] => [r.vocabulary, r.width, r.layers, r.heads, r.kvHeads, r.hidden, r.trainedLength,
  r.normEpsilon, r.norm, r.activation, r.encoding, r.tied, r.causal];
const trainFields = (r: TrainRequest): Value[] => [r.learningRate, r.warmup, r.steps, r.minimumRatio, r.beta1, r.beta2, r.epsilon,
  r.weightDecay, r.clip, r.encodingRate];
const runFields = (r: RunRequest): Value[] => [...trainFields(r.train), r.task, r.batch, r.length, r.seed];

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Starts a compiled module. */
export async function startCore(module: WebAssembly.Module): Promise<Core> {
  const kept = new Map<number, unknown>(); // what C++ holds by a number
  let handles = 0;
  const keep = (value: unknown) => (kept.set(++handles, value), handles);

  const imports = {
    env: {
      emscripten_notify_memory_growth: () => look(),
      // operator new has nothing to give.
      exhausted: () => { throw new WebAssembly.RuntimeError('Aborted(OOM)'); },
      tables(definition: number, shape: number, values: number, count: number) {
        const [heads, kvHeads, headDim, width, trainedLength, causal] = readAt(shape, 6) as [number, number, number, number, number, number];
        return keep((kept.get(definition) as NativeDefinition).tables({ heads, kvHeads, headDim, width, trainedLength, causal: causal !== 0 }, readAt(values, count)));
      },
      fill: (tables: number, door: number, ...args: number[]) => lend((kept.get(tables) as Record<string, Call>)[FILLERS[door]!]!(...args)),
      release: (handle: number) => void kept.delete(handle),
    },
    wasi_snapshot_preview1: {
      clock_time_get(_clock: number, _precision: bigint, out: number) {
        new BigUint64Array(memory.buffer)[out >>> 3] = BigInt(Math.round(performance.now() * 1e6));
        return 0;
      },
    },
  };
  const { exports } = await WebAssembly.instantiate(module, imports);
  const { memory, malloc, free, __indirect_function_table: table } = exports as { memory: WebAssembly.Memory, malloc: Call, free: Call, __indirect_function_table: WebAssembly.Table };

  const core = { _malloc: malloc, _free: free } as Core;
  /** Makes the views anew: growing memory detaches them. */
  function look(): void {
    const { buffer } = memory as { buffer: ArrayBuffer };
    core.HEAPU8 = new Uint8Array(buffer);
    core.HEAP32 = new Int32Array(buffer);
    core.HEAPF32 = new Float32Array(buffer);
    core.HEAPF64 = new Float64Array(buffer);
  }
  look();
  (exports._initialize as Call)();

  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const readAt = (at: number, count: number): number[] => [...core.HEAPF64.subarray(at >>> 3, (at >>> 3) + count)];
  const textAt = (at: number, bytes: number): string => decoder.decode(core.HEAPU8.subarray(at >>> 0, (at >>> 0) + bytes));
  const answer = (at: number): string => (at ? textAt(at + 4, core.HEAP32[at >>> 2]!) : '');

  function put(at: number, bytes: Uint8Array): number {
    core.HEAP32[at >>> 2] = bytes.length;
    core.HEAPU8.set(bytes, (at >>> 0) + 4);
    return at;
  }
  /** A text that C++ frees; 0 for none. */
  function lend(text: string): number {
    if (!text) return 0;
    const bytes = encode(text), at = malloc(bytes.length + 4);
    return at ? put(at, bytes) : imports.env.exhausted();
  }
  function text(scratch: Scratch, value: string): number {
    const bytes = encode(value);
    return put(scratch.space(bytes.length + 4), bytes);
  }
  function fields(scratch: Scratch, values: Value[]): number {
    return scratch.doubles(Float64Array.from(values, (value) => (typeof value === 'string' ? text(scratch, value) : Number(value))));
  }

  // The list of calls, each a name, whether it gives a text, and where it is in the table.
  const owners: Record<string, Calls> = {};
  for (let at = (exports.lengthwise_calls as Call)() >>> 2; core.HEAP32[at]; at += 3) {
    const name = core.HEAP32[at]!, call = table.get(core.HEAP32[at + 2]!) as Call;
    const [method, owner = ''] = textAt(name, core.HEAPU8.indexOf(0, name) - name).split('.').reverse() as [string, string?];
    (owners[owner] ??= {})[method] = core.HEAP32[at + 1] ? (...args) => answer(call(...args)) : call;
  }
  const { catalogue, lastError, audit, registerEncoding, unregisterEncoding } = owners['']!;
  const { trainerMake } = owners.Model!;
  owners.Model!.trainerMake = (at, options, seed) => borrow(core, (scratch) => trainerMake!(at, fields(scratch, trainFields(options)), seed));

  /** What makes objects of a class: their methods pass on where they are. */
  function maker<T, A extends unknown[]>(owner: string, crossing: (scratch: Scratch, ...args: A) => number[]): { make(...args: A): T | null } {
    const { make, ...methods } = owners[owner]!;
    const prototype = Object.fromEntries(Object.entries(methods).map(([name, call]) =>
      [name, function (this: { at: number }, ...args: unknown[]) { return call(this.at, ...args); }]));
    return {
      make(...args) {
        const at = borrow(core, (scratch) => make!(...crossing(scratch, ...args)));
        return at ? Object.assign(Object.create(prototype), { at }) : null;
      },
    };
  }

  return Object.assign(core, {
    catalogue, lastError,
    audit: (spec: string, shape: ShapeRequest) => borrow(core, (scratch) => audit!(text(scratch, spec), fields(scratch, shapeFields(shape)))),
    registerEncoding: (definition: NativeDefinition, replace: boolean) => borrow(core, (scratch) => {
      const { name, title, titleZh, doors, byRow, pairs, half, options } = definition;
      const list = fields(scratch, options.flatMap((o) => [o.name, o.kind, o.initial, o.least, o.most, o.choices, o.meaning]));
      const request = fields(scratch, [name, title, titleZh, doors, byRow, pairs, half, list, options.length]);
      return registerEncoding!(keep(definition), request, replace);
    }),
    unregisterEncoding: (name: string) => borrow(core, (scratch) => unregisterEncoding!(text(scratch, name)) !== 0),
    Encoder: maker<NativeEncoder, [string, ShapeRequest, number]>('Encoder', (scratch, spec, shape, seed) => [text(scratch, spec), fields(scratch, shapeFields(shape)), seed]),
    Model: maker<NativeModel, [ModelRequest, number]>('Model', (scratch, config, seed) => [fields(scratch, modelFields(config)), seed]),
    Run: maker<NativeRun, [ModelRequest, RunRequest]>('Run', (scratch, config, run) => [fields(scratch, modelFields(config)), fields(scratch, runFields(run))]),
  });
}

/** The bits of doors, and what fills their tables. */
const FILLERS: Record<number, keyof NativeTables> = { 1: 'ids', 2: 'input', 4: 'rotation', 8: 'bias', 32: 'pattern', 64: 'scale' };
