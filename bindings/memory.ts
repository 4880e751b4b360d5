/// <reference lib="esnext.disposable" preserve="true" />
// Lending arrays to the core: copied into WebAssembly memory for the length of one call, results copied out.

import type { Core } from './core.js';
import { DisposedError, OutOfMemoryError, succeed } from './errors.js';

/** Blocks of WebAssembly memory that live as long as one `borrow`. */
export class Scratch {
  readonly #core: Core;
  readonly #blocks: number[] = [];

  constructor(core: Core) {
    this.#core = core;
  }

  /** An uninitialised block. Sizes past 32 bits never reach malloc, which would take them modulo 2³². */
  space(bytes: number): number {
    // malloc's pointers are signed 32-bit numbers: past 2 GiB they come out negative without >>> 0.
    const block = bytes < 2 ** 32 ? this.#core._malloc(Math.max(bytes, 8)) >>> 0 : 0;
    if (!block) throw new OutOfMemoryError(`WebAssembly memory ran out: ${bytes} bytes could not be had`);
    this.#blocks.push(block);
    return block;
  }

  bytes(data: Uint8Array): number {
    const block = this.space(data.byteLength);
    this.#core.HEAPU8.set(data, block);
    return block;
  }

  floats(data: Float32Array): number {
    const block = this.space(data.byteLength);
    this.#core.HEAPF32.set(data, block >>> 2);
    return block;
  }

  integers(data: Int32Array): number {
    const block = this.space(data.byteLength);
    this.#core.HEAP32.set(data, block >>> 2);
    return block;
  }

  doubles(data: Float64Array): number {
    const block = this.space(data.byteLength);
    this.#core.HEAPF64.set(data, block >>> 3);
    return block;
  }

  free(): void {
    for (const block of this.#blocks.splice(0)) this.#core._free(block);
  }
}

/** Runs `use` with scratch memory that is freed afterwards, come what may. */
export function borrow<R>(core: Core, use: (scratch: Scratch) => R): R {
  const scratch = new Scratch(core);
  try {
    return use(scratch);
  } finally {
    scratch.free();
  }
}

// Results are always copies: a view would be detached by the next growth of memory, and reading it gives undefined.
export const readFloats = (core: Core, pointer: number, length: number): Float32Array<ArrayBuffer> =>
  core.HEAPF32.slice(pointer >>> 2, (pointer >>> 2) + length);
export const readDoubles = (core: Core, pointer: number, length: number): Float64Array<ArrayBuffer> =>
  core.HEAPF64.slice(pointer >>> 3, (pointer >>> 3) + length);
export const readBytes = (core: Core, pointer: number, length: number): Uint8Array<ArrayBuffer> =>
  core.HEAPU8.slice(pointer >>> 0, (pointer >>> 0) + length);

/** Fills `length` floats by a call of the core and returns a copy. */
export function filledFloats(core: Core, length: number, fill: (out: number) => string | void): Float32Array<ArrayBuffer> {
  return borrow(core, (scratch) => {
    const out = scratch.space(length * 4);
    succeed(fill(out) ?? '');
    return readFloats(core, out, length);
  });
}

let filling = '';

/** Runs a caller's function in the middle of a call of the core: nothing that exists may be touched meanwhile. */
export function withoutReentry(name: string, work: () => void): void {
  notWhileFilling();
  filling = name;
  try {
    work();
  } finally {
    filling = '';
  }
}

/** @throws Error while a table is being filled */
export function notWhileFilling(): void {
  if (filling) throw new Error(`${filling} uses the engine while it fills a table; allowed: what it can tell from its arguments`);
}

/** Symbol.dispose where the engine knows it, so that `using` works; the same key under another name where it does not. */
export const disposeKey: typeof Symbol.dispose = Symbol.dispose ?? Symbol.for('Symbol.dispose');

/** Owner of one object of the core. */
export abstract class Handle<T extends { delete(): void }> {
  #native: T | undefined;
  readonly #what: string;

  constructor(native: T, what: string) {
    this.#native = native;
    this.#what = what;
  }

  /** The core's object. @throws DisposedError after dispose(). */
  protected get native(): T {
    notWhileFilling();
    if (!this.#native) throw new DisposedError(`this ${this.#what} has been disposed of; make a new one`);
    return this.#native;
  }

  get disposed(): boolean {
    return this.#native === undefined;
  }

  /** Gives the memory back. May be called more than once; every other method throws DisposedError afterwards. */
  dispose(): void {
    notWhileFilling();
    this.#native?.delete();
    this.#native = undefined;
  }

  [disposeKey](): void {
    this.dispose();
  }
}
