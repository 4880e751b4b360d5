// From single runs to means and spreads over seeds.

import type { TestResult } from './run.js';

/** Mean over seeds, standard deviation (null with fewer than two seeds), and the single values. */
export interface Spread {
  mean: number;
  sd: number | null;
  values: number[];
}

/** Tests of one encoding at one length, over seeds. Absent numbers: every seed was refused. */
export interface LengthSummary {
  length: number;
  loss?: Spread;
  perplexity?: Spread;
  bitsPerToken?: Spread;
  accuracy?: Spread;
  /** Mean over seeds of the loss at each position, `[length]`. */
  byPosition?: Float32Array;
  /** Why the encoding cannot be tested at this length. */
  refused?: string;
}

export interface EncodingSummary {
  encoding: string;
  /** Weights of the model, its encoding's included. */
  parameters: number | null;
  /** Training speed, mean over seeds. */
  stepsPerSecond: number | null;
  /** Loss of every training step, one array for each seed. */
  trainLosses: Float32Array[];
  tests: LengthSummary[];
  /** Runs that broke off. */
  failed: string[];
}

/** What is known about one run. */
export interface RunRecord {
  encoding: string;
  seed: number;
  parameters: number | null;
  stepsPerSecond: number | null;
  losses: number[];
  tests: Map<number, TestResult>;
  refused: Map<number, string>;
  failed: string | null;
}

export function spread(values: number[]): Spread {
  const mean = average(values);
  const sd = values.length < 2 ? null : Math.sqrt(values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / (values.length - 1));
  return { mean, sd, values };
}

export function summarise(encoding: string, runs: RunRecord[], testLengths: number[]): EncodingSummary {
  const speeds = runs.flatMap((run) => run.stepsPerSecond ?? []);
  return {
    encoding,
    parameters: runs.find((run) => run.parameters !== null)?.parameters ?? null,
    stepsPerSecond: speeds.length ? average(speeds) : null,
    trainLosses: runs.map((run) => Float32Array.from(run.losses)),
    tests: testLengths.map((length) => summariseLength(length, runs)),
    failed: runs.flatMap((run) => run.failed ?? []),
  };
}

function summariseLength(length: number, runs: RunRecord[]): LengthSummary {
  const results = runs.flatMap((run) => run.tests.get(length) ?? []);
  if (results.length === 0) {
    const refused = runs.map((run) => run.refused.get(length)).find((message) => message !== undefined);
    return refused === undefined ? { length } : { length, refused };
  }
  const over = (key: 'loss' | 'perplexity' | 'bitsPerToken' | 'accuracy') => spread(results.map((result) => result[key]));
  const byPosition = Float32Array.from({ length: results[0]!.byPosition.length }, (_, i) => average(results.map((r) => r.byPosition[i]!)));
  return { length, loss: over('loss'), perplexity: over('perplexity'), bitsPerToken: over('bitsPerToken'), accuracy: over('accuracy'), byPosition };
}

function average(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
