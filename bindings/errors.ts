// The errors this package throws, beside the usual TypeError and RangeError for a parameter that is wrong.

/**
 * WebAssembly memory ran out. Nothing is broken: free something or ask for less, and go on; unless the message says that
 * the instance cannot be used any more.
 */
export class OutOfMemoryError extends Error {
  override readonly name = 'OutOfMemoryError';
}

/** A method was called on something that had been disposed of. */
export class DisposedError extends Error {
  override readonly name = 'DisposedError';
}

/** A file is truncated, of another kind, or contradicts itself. */
export class FormatError extends Error {
  override readonly name = 'FormatError';
}

/** The WebAssembly code trapped: a fault of this package. Its instance cannot be used any more, `load()` gives another. */
export class EngineError extends Error {
  override readonly name = 'EngineError';
}

/** A function of an encoding of your own threw (see `cause`), or returned what its door cannot take; or its module is none. */
export class EncodingError extends Error {
  override readonly name = 'EncodingError';
}

/** Why the WebAssembly module could not be loaded. */
export type LoadErrorCode = 'html' | 'http' | 'network' | 'csp' | 'simd' | 'threads' | 'invalid';

/** The WebAssembly module could not be loaded; `code` tells why, `message` what to do. */
export class LoadError extends Error {
  override readonly name = 'LoadError';
  constructor(readonly code: LoadErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}

/** Turns a sentence from the core into the error it stands for; '' is none. */
export function succeed(sentence: string): void {
  if (sentence) throw errorFrom(sentence);
}

let thrown: { sentence: string; cause?: unknown } = { sentence: '' };

/** Keeps what a function threw while the core carries the sentence about it to whoever called. @returns the sentence */
export function rememberCause(sentence: string, cause: unknown): string {
  thrown = { sentence, cause };
  return sentence;
}

/** The error that a sentence from the core stands for. */
export function errorFrom(sentence: string): Error {
  const prefixed = /^(TypeError|OutOfMemory|Encoding): (.*)$/s.exec(sentence);
  if (!prefixed) return new RangeError(sentence);
  if (prefixed[1] === 'Encoding') return new EncodingError(prefixed[2], sentence === thrown.sentence ? { cause: thrown.cause } : undefined);
  return prefixed[1] === 'TypeError' ? new TypeError(prefixed[2]) : new OutOfMemoryError(prefixed[2]);
}

/** The object that a make() of the core returned. @throws what the core says when there is none */
export function made<T>(object: T | null, core: { lastError(): string }): T {
  if (object === null) throw errorFrom(core.lastError());
  return object;
}

/** An error as it leaves a worker: only name and message survive, so the name takes the code along. */
export function sendable(error: unknown): unknown {
  return error instanceof LoadError ? Object.assign(new Error(error.message), { name: `LoadError ${error.code}` }) : error;
}

/** Gives an error that came from a worker its class back. */
export function revive(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  const { name, message } = error;
  const code = /^LoadError (\w+)$/.exec(name)?.[1];
  if (code) return new LoadError(code as LoadErrorCode, message, { cause: error });
  const classes = { TypeError, RangeError, OutOfMemoryError, DisposedError, EngineError, FormatError, EncodingError };
  if (!Object.hasOwn(classes, name)) return error;
  return new classes[name as keyof typeof classes](message, { cause: error });
}
