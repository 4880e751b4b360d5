// What textbooks ask of a position encoding, measured in numbers and not judged. src/lab/audit.h defines each exactly.

import type { Core } from './core.js';
import { shapeRequest, type Door, type EncodingShape } from './encoding.js';
import { succeed } from './errors.js';
import { specText, type EncodingSpec } from './spec.js';

/** An audit at n = min(trainedLength, 512) tokens of equal content. null: the door is closed, nothing to measure. */
export interface Audit {
  /** n */
  length: number;
  /** Whether every two positions can be told apart: the smallest distance between two of them, as the last token sees them (null: it sees no two that could be compared). */
  unique: { measured: string; distance: number | null; positions: [number, number] };
  /** The largest difference between two plans: of the same input again, of two in training, alone and in twice the length (null: that is refused);
   *  and the door that it is behind, '' where there is none. */
  deterministic: { measured: string; again: number | null; training: number | null; longer: number | null; door: Door | '' };
  /** Shares, 0 … 1, of what comes at 4n and never came at n: distances, angles, input vectors, factors on scores, attention on
   *  such distances. trained: the spec of training, where the encoding is put on a trained model (yarn: rope). Both sentences: '' for none. */
  past: {
    measured: string; trained: string; refused: string;
    distances: number | null; angles: number | null; rows: number | null; factors: number | null; weight: number | null;
  };
  /** How much is put beside the content: vectors over an embedding's norm, the spread of biases over that of scores. */
  content: { measured: string; input: number | null; bias: number | null };
  /** Learned numbers, bytes of tables for n tokens, and times over the time of attention without an encoding. */
  cost: { measured: string; parameters: number; bytes: number; planning: number; attention: number };
}

/** Audits an encoding. */
export function audit(core: Core, spec: EncodingSpec, shape: EncodingShape = {}): Audit {
  const { error, ...result } = JSON.parse(core.audit(specText(spec), shapeRequest(shape)));
  succeed(error);
  return result;
}
