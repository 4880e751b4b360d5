// Finding, checking and starting the WebAssembly module.

import type { BareCore, Core } from './core.js';
import { Lengthwise } from './engine.js';
import { LoadError, OutOfMemoryError } from './errors.js';
import * as check from './check.js';
import { guarded } from './guard.js';
import { leftOut, ownAddress } from './spawn.js';
import create from './lengthwise.mjs';
import { sharedMemory, startThreads, type Threads } from './threads.js';

/** Where the WebAssembly comes from. */
export interface LoadOptions {
  /** Address of the .wasm file, if relative then to the page; by default the one beside this module. */
  wasmUrl?: string | URL;
  /** The .wasm file itself, or the compiled module: nothing is fetched. */
  wasmBinary?: Uint8Array | ArrayBuffer | WebAssembly.Module;
  /**
   * Which of the two binaries: 'simd' gives the same bits in all engines; 'relaxed' is faster and may round a little
   * differently from one processor to another; 'auto' (default) takes relaxed where the engine has it. With `wasmUrl` or
   * `wasmBinary` it says which one that is, and 'auto' means 'simd'.
   */
  variant?: 'auto' | 'simd' | 'relaxed';
  /**
   * How many threads compute, 1 (default) to 16: best no more than there are cores. Results have the same bits with any
   * number. Several need shared memory, which Node has, and a page that is cross-origin isolated: served with the headers
   * `Cross-Origin-Opener-Policy: same-origin` and `Cross-Origin-Embedder-Policy: require-corp`. Elsewhere it is one;
   * `threads` of what is loaded tells. With `wasmUrl` or `wasmBinary` more than one needs the file that is for several.
   */
  threads?: number;
  /**
   * Whether what is loaded only runs models and encodings (default false): a file a quarter smaller, which is there sooner and
   * neither trains nor audits. Several threads have one file for everything; with `wasmUrl` or `wasmBinary` it is the given one.
   */
  inferenceOnly?: boolean;
}

/** Options of everything that starts workers. */
export interface WorkerOptions {
  /** Makes a browser worker that runs this package's worker.js, where the default address does not serve. */
  createWorker?: () => Worker;
}

export const LOAD_KEYS = ['wasmUrl', 'wasmBinary', 'variant', 'threads', 'inferenceOnly'] as const;

export type Variant = 'simd' | 'relaxed';

/** What settles a load: the file, and how to run it. */
export interface Located {
  wasmBinary: Uint8Array | WebAssembly.Module;
  variant: Variant;
  threads: number;
}

/** A core that is running, on how many threads. */
export interface Loaded {
  core: Core;
  variant: Variant;
  module: WebAssembly.Module;
  threads: Threads | undefined;
}

// Modules of one function each, for WebAssembly.validate: does the engine know the instruction?
const HEADER = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
const probe = (...body: number[]) =>
  Uint8Array.from([...HEADER, 1, 5, 1, 0x60, 0, 1, 0x7b, 3, 2, 1, 0, 10, body.length + 4, 1, body.length + 2, 0, ...body, 0x0b]);
const ZERO = [0x41, 0, 0xfd, 0x0f]; // i32.const 0, i8x16.splat
const SIMD_PROBE = () => probe(...ZERO);
const RELAXED_PROBE = () => probe(...ZERO, ...ZERO, ...ZERO, 0xfd, 0x85, 0x02); // f32x4.relaxed_madd

/** Which binary this engine can run. @throws LoadError 'simd' when it can run neither. */
export function bestVariant(): 'simd' | 'relaxed' {
  if (typeof WebAssembly !== 'object' || !WebAssembly.validate(SIMD_PROBE())) {
    throw new LoadError('simd', 'this engine has no WebAssembly SIMD; a browser from 2023 or later, or Node 20, has it');
  }
  return WebAssembly.validate(RELAXED_PROBE()) ? 'relaxed' : 'simd';
}

/**
 * Loads the WebAssembly module and gives the object that everything else hangs on.
 * @throws LoadError with a `code`: 'html' (a server answered with a page), 'http', 'network', 'csp' (the page's policy
 * lacks 'wasm-unsafe-eval'), 'simd', 'threads', 'invalid'; OutOfMemoryError when not even the smallest memory can be had.
 */
export async function load(options: LoadOptions = {}): Promise<Lengthwise> {
  return new Lengthwise(await loadCore(options));
}

/** The bare core. */
export async function loadCore(options: LoadOptions): Promise<Loaded> {
  const { wasmBinary, variant, threads } = await locate(options);
  const module = isModule(wasmBinary) ? wasmBinary : await compile(wasmBinary);
  const memory = reserve(threads > 1);
  const core = await start(module, memory, threads);
  return { core: guarded(core), variant, module, threads: threads > 1 ? await startThreads(core, module, memory, threads) : undefined };
}

/** Settles which binary to run and reads it: what workers are handed, so that each need not. */
export async function locate(options: LoadOptions): Promise<Located> {
  check.keys('load options', options, LOAD_KEYS);
  const { wasmUrl, wasmBinary } = options;
  const wanted = check.choice('variant', options.variant ?? 'auto', ['auto', 'simd', 'relaxed']);
  const threads = options.threads === undefined ? 1 : check.integer('threads', options.threads, 1, 16);
  const inferenceOnly = check.flag('inferenceOnly', options.inferenceOnly ?? false);
  const best = bestVariant();
  const variant = wanted !== 'auto' ? wanted : wasmUrl === undefined && wasmBinary === undefined ? best : 'simd';
  if (variant === 'relaxed' && best === 'simd') {
    throw new LoadError('simd', "this engine has no relaxed SIMD; load with variant 'simd' or 'auto'");
  }
  const how = { variant, threads: sharedMemory() ? threads : 1 };
  if (isModule(wasmBinary)) return { wasmBinary, ...how };
  if (wasmBinary !== undefined) return { wasmBinary: checked(view(wasmBinary)), ...how };
  if (wasmUrl !== undefined && wasmUrl !== null) return { wasmBinary: await read(wasmUrl), ...how };
  return { wasmBinary: await read(ownFile(variant, how.threads > 1 ? '-threads' : inferenceOnly ? '-inference' : ''), `. ${leftOut}, or pass wasmUrl or wasmBinary`), ...how };
}

/** What the file's name says beside the variant: for several threads, or without training. */
type Part = '' | '-threads' | '-inference';

const isModule = (value: unknown): value is WebAssembly.Module => check.isA('WebAssembly.Module', value);

/** The package's own file: where a bundler says that it is, or else, for servers, beside this module. */
function ownFile(variant: Variant, part: Part): URL {
  let place: URL;
  try {
    place = address(variant, part);
  } catch (cause) {
    throw new LoadError('network', 'this script does not know its own address, and so not that of the WebAssembly file; let the bundler write ES modules, or pass wasmUrl or wasmBinary', { cause });
  }
  const files = globalThis.process?.getBuiltinModule?.('node:fs');
  if (!files || (place.protocol === 'file:' && files.existsSync(place))) return place;
  const beside = ownAddress(`lengthwise${part}${variant === 'relaxed' ? '-relaxed' : ''}.wasm`);
  return beside.protocol === 'file:' && files.existsSync(beside) ? beside : place;
}

// Literal forms, so that bundlers see which files belong to the package.
function address(variant: Variant, part: Part): URL {
  if (part === '-threads') return variant === 'relaxed' ? new URL('./lengthwise-threads-relaxed.wasm', import.meta.url) : new URL('./lengthwise-threads.wasm', import.meta.url);
  if (part === '-inference') return variant === 'relaxed' ? new URL('./lengthwise-inference-relaxed.wasm', import.meta.url) : new URL('./lengthwise-inference.wasm', import.meta.url);
  return variant === 'relaxed' ? new URL('./lengthwise-relaxed.wasm', import.meta.url) : new URL('./lengthwise.wasm', import.meta.url);
}

/** What relative addresses of callers are relative to: the page, or the working directory. */
function here(): string {
  const { document, location } = globalThis as { document?: Document; location?: Location };
  return document?.baseURI ?? location?.href ?? `file://${globalThis.process?.cwd()}/`;
}

function view(binary: Uint8Array | ArrayBuffer): Uint8Array {
  if (check.isA('Uint8Array', binary)) return check.bytes('wasmBinary', binary);
  if (!check.isA('ArrayBuffer', binary)) throw new TypeError(`wasmBinary must be a Uint8Array, an ArrayBuffer or a WebAssembly.Module, not ${check.describe(binary)}`);
  check.attached('wasmBinary', binary as ArrayBuffer);
  return check.bytes('wasmBinary', new Uint8Array(binary as ArrayBuffer));
}

function resolve(url: string | URL): URL {
  if (!check.isA('URL', url)) check.text('wasmUrl', url);
  try {
    return new URL(url, here());
  } catch (cause) {
    throw new TypeError(`wasmUrl is '${check.shorten(String(url))}'; it must be an address`, { cause });
  }
}

/** @param remedy what is added where there is no such file */
async function read(url: string | URL, remedy = ''): Promise<Uint8Array | WebAssembly.Module> {
  const place = resolve(url);
  // Node's fetch cannot read files. No import() of node:fs: bundlers would look for it, service workers forbid it.
  const files = globalThis.process?.getBuiltinModule?.('node:fs');
  if (place.protocol === 'file:' && files) {
    let bytes: Uint8Array;
    try {
      bytes = files.readFileSync(place); // a pool of threads takes longer to start than the reading
    } catch (cause) {
      throw new LoadError('network', `the WebAssembly file ${place.pathname} cannot be read${remedy}`, { cause });
    }
    return checked(bytes);
  }
  let response: Response;
  try {
    response = await fetch(place);
  } catch (cause) {
    throw new LoadError('network', `the WebAssembly file could not be fetched from ${place}`, { cause });
  }
  if (!response.ok) throw new LoadError('http', `the WebAssembly file at ${place} was answered with status ${response.status}${remedy}`);
  try {
    // Compiled while it comes. Only what is compiled so do browsers keep as machine code, for the next visit.
    if (/^application\/wasm\b/i.test(response.headers.get('content-type') ?? '')) return await WebAssembly.compileStreaming(response);
    return checked(new Uint8Array(await response.arrayBuffer()));
  } catch (cause) {
    if (cause instanceof LoadError) throw cause;
    if (cause instanceof WebAssembly.CompileError || cause instanceof RangeError) throw startError(cause);
    throw new LoadError('network', `the WebAssembly file from ${place} did not come whole`, { cause });
  }
}

function checked(bytes: Uint8Array): Uint8Array {
  if (check.isHtml(bytes)) {
    throw new LoadError('html', 'HTML was returned instead of the WebAssembly file: the server does not have it at that ' +
      'address. Pass wasmUrl or wasmBinary to load(), or, with Vite, put lengthwise in optimizeDeps.exclude');
  }
  if (bytes.length < 8 || HEADER.some((byte, i) => bytes[i] !== byte)) {
    throw new LoadError('invalid', `not a WebAssembly file: it has ${bytes.length} bytes and does not start with \\0asm`);
  }
  return bytes;
}

async function compile(bytes: Uint8Array): Promise<WebAssembly.Module> {
  try {
    return await WebAssembly.compile(bytes as Uint8Array<ArrayBuffer>);
  } catch (cause) {
    throw startError(cause);
  }
}

/** 16 MB that may grow to 2 GB, as the module was linked for. */
function reserve(shared: boolean): WebAssembly.Memory {
  try {
    return new WebAssembly.Memory({ initial: 256, maximum: 32768, shared });
  } catch (cause) {
    throw startError(cause);
  }
}

async function start(module: WebAssembly.Module, memory: WebAssembly.Memory, threads: number): Promise<BareCore> {
  return new Promise((resolve, reject) => {
    const instantiateWasm = (imports: WebAssembly.Imports, done: (i: WebAssembly.Instance, m: WebAssembly.Module) => void) => {
      WebAssembly.instantiate(module, imports).then((instance) => done(instance, module))
        .catch((cause) => reject(cause instanceof WebAssembly.LinkError ? otherMemory(threads, cause) : startError(cause)));
      return {};
    };
    // What an abort prints is in the error that it throws.
    create({ wasmMemory: memory, instantiateWasm, printErr: () => {} }).then(resolve, reject);
  });
}

/** Modules for one thread and for several differ in the memory that they take. */
function otherMemory(threads: number, cause: unknown): LoadError {
  const message = threads > 1 ? `threads is ${threads}, but the WebAssembly file is for one; give lengthwise-threads.wasm`
    : `the WebAssembly file is for several threads${sharedMemory() ? ': load it with threads from 2 on'
      : ', which need a page with Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp'}`;
  return new LoadError('threads', message, { cause });
}

function startError(cause: unknown): Error {
  const message = cause instanceof Error ? cause.message : String(cause);
  if (/content security policy|unsafe-eval|disallowed by embedder|blocked by CSP/i.test(message)) {
    return new LoadError('csp', "the page's Content-Security-Policy forbids WebAssembly: script-src needs 'wasm-unsafe-eval'", { cause });
  }
  if (cause instanceof RangeError || /memory/i.test(message)) {
    return new OutOfMemoryError(`WebAssembly memory could not be had: ${message}`, { cause });
  }
  return new LoadError('invalid', `the WebAssembly file does not run here: ${message}`, { cause });
}
