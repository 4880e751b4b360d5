// The safetensors format: an 8-byte header length, a JSON header, the tensors' bytes. Read strictly, since files come
// from anywhere: sizes stay BigInt until they are known to lie inside the file, and nothing is allocated before that.

import * as check from './check.js';
import { FormatError } from './errors.js';
import { HeaderReader, type HeaderEntry } from './safetensors-header.js';

const MOST_HEADER = 100_000_000n; // the reference's limit

const ELEMENT_BYTES: Record<string, bigint> = {
  BOOL: 1n, U8: 1n, I8: 1n, F8_E4M3: 1n, F8_E5M2: 1n, U16: 2n, I16: 2n, F16: 2n, BF16: 2n,
  U32: 4n, I32: 4n, F32: 4n, U64: 8n, I64: 8n, F64: 8n,
};

/** A tensor of a file. `bytes` is a view of the file's bytes, at any alignment. */
export interface Tensor {
  dtype: string;
  shape: number[];
  bytes: Uint8Array;
}

/** What a safetensors file holds. */
export interface Safetensors {
  metadata: Record<string, string>;
  tensors: Map<string, Tensor>;
}

/**
 * Reads a safetensors file.
 * @throws FormatError for anything the format's reference reader would refuse: sizes that disagree with the file, with
 * the shape or with each other, holes, unknown types, duplicate names, metadata that is not text. A null __metadata__
 * is refused too.
 */
export function readSafetensors(file: Uint8Array): Safetensors {
  file = check.bytes('file', file);
  if (file.length < 8) throw new FormatError(`not a safetensors file: ${file.length} bytes are too few`);
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const headerBytes = view.getBigUint64(0, true);
  if (headerBytes > BigInt(file.length - 8)) {
    if (check.isHtml(file)) throw new FormatError('not a safetensors file: HTML was returned instead of it');
    throw new FormatError(`safetensors: a header of ${headerBytes} bytes does not fit in a file of ${file.length}`);
  }
  if (headerBytes > MOST_HEADER) throw new FormatError(`safetensors: a header of ${headerBytes} bytes is more than ${MOST_HEADER}`);

  const dataStart = 8 + Number(headerBytes);
  const { metadata, entries } = new HeaderReader(decodeHeader(file.subarray(8, dataStart))).read();
  const data = file.subarray(dataStart);
  checkContiguous(entries, BigInt(data.length));
  const tensors = new Map<string, Tensor>();
  for (const { name, dtype, shape, begin, end } of entries) {
    tensors.set(name, { dtype, shape: shape.map(Number), bytes: data.subarray(Number(begin), Number(end)) });
  }
  return { metadata, tensors };
}

/** The values of an F32 tensor, copied (so that the file's alignment does not matter). @throws FormatError for other types. */
export function tensorFloats(name: string, tensor: Tensor): Float32Array<ArrayBuffer> {
  checkTensor(name, tensor);
  if (tensor.dtype !== 'F32') throw new FormatError(`tensor '${check.shorten(name)}' is ${tensor.dtype}; only F32 can be read`);
  return floatsFrom(tensor.bytes);
}

/** Little-endian floats at any alignment, copied. */
export function floatsFrom(bytes: Uint8Array): Float32Array<ArrayBuffer> {
  return new Float32Array(new Uint8Array(bytes).buffer);
}

/**
 * Writes a safetensors file. Tensor data are aligned to 8 bytes; same input, same bytes. What could not be read back is
 * refused. @throws TypeError or RangeError
 */
export function writeSafetensors(contents: Safetensors): Uint8Array<ArrayBuffer> {
  check.keys('contents', contents ?? null, ['metadata', 'tensors']);
  const { metadata, tensors } = contents;
  checkMetadata(metadata);
  if (!(tensors instanceof Map)) throw new TypeError(`tensors must be a Map, not ${check.describe(tensors)}`);
  const header: Record<string, unknown> = Object.create(null); // where even __proto__ is just a name
  if (Object.keys(metadata).length) header['__metadata__'] = metadata;
  let size = 0;
  for (const [name, tensor] of tensors) {
    checkTensor(name, tensor);
    const { dtype, shape, bytes } = tensor;
    header[name] = { dtype, shape, data_offsets: [size, size + bytes.length] };
    size += bytes.length;
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  if (text.length > MOST_HEADER) throw new RangeError(`metadata and tensors need a header of ${text.length} bytes; allowed: at most ${MOST_HEADER}`);
  const padded = new Uint8Array(Math.ceil(text.length / 8) * 8).fill(0x20);
  padded.set(text);
  const file = new Uint8Array(8 + padded.length + size);
  new DataView(file.buffer).setBigUint64(0, BigInt(padded.length), true);
  file.set(padded, 8);
  let at = 8 + padded.length;
  for (const { bytes } of tensors.values()) {
    file.set(bytes, at);
    at += bytes.length;
  }
  return file;
}

/** Metadata are texts, and nothing else. */
export function checkMetadata(metadata: unknown): void {
  check.object('metadata', metadata);
  for (const [key, value] of Object.entries(metadata)) check.text(`metadata.${check.shorten(key)}`, value);
}

function checkTensor(name: unknown, tensor: Tensor): void {
  const called = `tensor '${check.shorten(check.text('the name of a tensor', name))}'`;
  if (name === '__metadata__') throw new RangeError(`${called} cannot be written: metadata have that name`);
  check.keys(called, tensor ?? null, ['dtype', 'shape', 'bytes']);
  check.choice(`the dtype of ${called}`, tensor.dtype, Object.keys(ELEMENT_BYTES));
  check.list(`the shape of ${called}`, tensor.shape, 'sizes').forEach((n, i) => check.integer(`shape[${i}] of ${called}`, n, 0));
  const wanted = bytesOf(tensor.shape.map(BigInt), ELEMENT_BYTES[tensor.dtype]!);
  const { length } = check.bytes(`the bytes of ${called}`, tensor.bytes);
  if (wanted !== BigInt(length)) throw new RangeError(`${called} of shape [${check.shorten(String(tensor.shape))}] needs ${wanted} bytes but has ${length}`);
}

function decodeHeader(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new FormatError('safetensors: the header is not UTF-8');
  }
}

/** Sizes must be what type and shape say, and the tensors must fill the data without a hole or an overlap. */
function checkContiguous(entries: HeaderEntry[], dataBytes: bigint): void {
  for (const { name, dtype, shape, begin, end } of entries) {
    const element = Object.hasOwn(ELEMENT_BYTES, dtype) ? ELEMENT_BYTES[dtype] : undefined;
    if (!element) throw new FormatError(`safetensors: tensor '${check.shorten(name)}' has the unknown type '${check.shorten(dtype)}'`);
    if (begin > end || end > dataBytes) {
      throw new FormatError(`safetensors: tensor '${check.shorten(name)}' spans bytes ${begin} to ${end} of ${dataBytes}`);
    }
    const wanted = bytesOf(shape, element);
    if (wanted !== end - begin) {
      throw new FormatError(`safetensors: tensor '${check.shorten(name)}' of shape [${check.shorten(String(shape))}] needs ${wanted} bytes but has ${end - begin}`);
    }
  }
  let filled = 0n;
  for (const { name, begin, end } of [...entries].sort((a, b) => compare(a.begin, b.begin) || compare(a.end, b.end))) {
    if (begin !== filled) throw new FormatError(`safetensors: tensor '${check.shorten(name)}' starts at byte ${begin} instead of ${filled}`);
    filled = end;
  }
  if (filled !== dataBytes) throw new FormatError(`safetensors: the tensors fill ${filled} of ${dataBytes} bytes`);
}

/** Past 2⁶⁴ it is left at that: products of endless shapes would take forever. */
function bytesOf(shape: bigint[], element: bigint): bigint {
  return shape.reduce((product, n) => (product > 2n ** 64n ? product : product * n), element);
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
