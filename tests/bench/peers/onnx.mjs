// Writes ONNX models: as much of the protobuf as the bench needs.

function concat(parts) {
  const bytes = new Uint8Array(parts.reduce((n, part) => n + part.length, 0));
  let at = 0;
  for (const part of parts) bytes.set(part, at), at += part.length;
  return bytes;
}
function varint(value) {
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    bytes.push(Number(rest & 127n) | (rest > 127n ? 128 : 0));
    rest >>= 7n;
  } while (rest);
  return Uint8Array.from(bytes);
}
const integer = (field, value) => concat([varint(field << 3), varint(value)]);
const real = (field, value) => concat([varint(field << 3 | 5), new Uint8Array(Float32Array.of(value).buffer)]);
const bytes = (field, value) => concat([varint(field << 3 | 2), varint(value.length), value]);
const text = (field, value) => bytes(field, new TextEncoder().encode(value));
const message = (field, ...parts) => bytes(field, concat(parts));

const TYPES = [[Float32Array, 1], [Int32Array, 6], [BigInt64Array, 7]];
const tensor = (field, name, { shape, data }) => message(field,
  ...shape.map((n) => integer(1, n)), integer(2, TYPES.find(([type]) => data instanceof type)[1]), text(8, name),
  bytes(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength)));

function attribute(name, value) {
  if (typeof value === 'string') return message(5, text(1, name), text(4, value), integer(20, 3));
  if (Array.isArray(value)) return message(5, text(1, name), ...value.map((v) => integer(8, v)), integer(20, 7));
  if (Number.isInteger(value)) return message(5, text(1, name), integer(3, value), integer(20, 2));
  return message(5, text(1, name), real(2, value), integer(20, 1));
}
const node = ([operator, inputs, outputs, { domain = '', ...attributes } = {}]) => message(1,
  ...inputs.map((name) => text(1, name)), ...outputs.map((name) => text(2, name)), text(4, operator), text(7, domain),
  ...Object.entries(attributes).map(([name, value]) => attribute(name, value)));
const value = (field, [name, { type = 1, shape }]) => message(field, text(1, name),
  message(2, message(1, integer(1, type), ...(shape ? [message(2, ...shape.map((n) => message(1, typeof n === 'number' ? integer(1, n) : text(2, n))))] : []))));

/**
 * @param nodes [[operator, inputs, outputs, { domain, …attributes }]]; an attribute that is a float has a fraction or is
 * boxed by float()
 * @param constants { name: { shape, data } } @param inputs, outputs { name: { type, shape } }, type 1 (float) or 7 (int64)
 */
export function model({ nodes, constants = {}, inputs = {}, outputs, opset = 17 }) {
  return concat([
    integer(1, 8),
    message(7, ...nodes.map(node), text(2, 'bench'), ...Object.entries(constants).map(([name, t]) => tensor(5, name, t)),
      ...Object.entries(inputs).map((input) => value(11, input)), ...Object.entries(outputs).map((output) => value(12, output))),
    message(8, text(1, ''), integer(2, opset)), message(8, text(1, 'com.microsoft'), integer(2, 1)),
  ]);
}
