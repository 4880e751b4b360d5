// The one place where TypeScript calls the core. C++ here has no exceptions: what is thrown is a trap or an abort, after
// which nothing inside that instance can be trusted. It is marked as spoilt, and every later call says so.

import type { BareCore, Core } from './core.js';
import { EngineError, OutOfMemoryError } from './errors.js';

type Call = (...args: never[]) => unknown;

/** The core, with every call into it guarded, those of the objects it makes too. */
export function guarded(core: BareCore): Core {
  let spoilt: Error | undefined;

  /** `quiet` calls give memory back: on a spoilt instance there is nothing to give back to. */
  function guard<F extends Call>(call: F, owner: object, quiet = false): F {
    return ((...args: Parameters<F>) => {
      if (spoilt && quiet) return undefined;
      if (spoilt) throw reason(spoilt);
      try {
        return own(call.apply(owner, args));
      } catch (error) {
        if (!isTrap(error)) throw error;
        throw reason(spoilt = error);
      }
    }) as F;
  }

  /** What a call makes, which has to be deleted, is guarded too. */
  function own<T>(result: T): T {
    return typeof result === 'object' && result !== null && 'delete' in result ? guardedObject(result) : result;
  }

  function guardedObject<T extends object>(object: T): T {
    return new Proxy(object, {
      get(target, key) {
        const member: unknown = Reflect.get(target, key, target);
        return typeof member === 'function' ? guard(member as Call, target, key === 'delete') : member;
      },
    });
  }

  function maker<N extends 'Encoder' | 'Model' | 'Trainer' | 'Run'>(name: N, describe: () => void): Core[N] {
    const make = guard((...args: never[]) => {
      if (!core[name]) describe();
      return (core[name].make as Call)(...args);
    }, core);
    return { make } as unknown as Core[N];
  }
  const describeModels = () => { if (!core.Model) core.describeModels(); };
  const describeTraining = () => {
    describeModels();
    (core.describeTraining ?? leftOut).call(core);
  };
  return {
    get HEAPU8() { return core.HEAPU8; },
    get HEAP32() { return core.HEAP32; },
    get HEAPF32() { return core.HEAPF32; },
    get HEAPF64() { return core.HEAPF64; },
    get spoilt() { return spoilt !== undefined; },
    _malloc: guard(core._malloc, core),
    _free: guard(core._free, core, true),
    catalogue: guard(core.catalogue, core),
    lastError: guard(core.lastError, core),
    audit: guard(core.audit ?? leftOut, core),
    threads: guard(core.threads, core),
    registerEncoding: guard(core.registerEncoding, core),
    unregisterEncoding: guard(core.unregisterEncoding, core),
    Encoder: maker('Encoder', () => core.describeEncoder()),
    Model: maker('Model', describeModels),
    Trainer: maker('Trainer', describeTraining),
    Run: maker('Run', describeTraining),
  };
}

function leftOut(): never {
  throw new Error('what was loaded is for inference only: it neither trains nor audits; allowed: load() without inferenceOnly, or another file than lengthwise-inference.wasm');
}

/** A trap, an abort, or a stack that overflowed (RangeError in V8 and JavaScriptCore, InternalError in Firefox). */
function isTrap(error: unknown): error is Error {
  return error instanceof WebAssembly.RuntimeError || (error instanceof Error && /call stack|too much recursion/i.test(error.message));
}

// Without exceptions operator new aborts, and nothing else in the core does: "Aborted()" with nothing inside, or "(OOM)".
function reason(trap: Error): Error {
  const again = 'this instance cannot be used any more: call load() again';
  if (/^Aborted\((OOM)?\)/.test(trap.message)) return new OutOfMemoryError(`WebAssembly memory ran out in the midst of a calculation; ${again}`, { cause: trap });
  return new EngineError(`the WebAssembly code failed (${trap.message}); ${again}`, { cause: trap });
}
