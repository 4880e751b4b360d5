// What has been measured so far, and what the charts and tables read from it. Numbers come from runs and nowhere else.
import { fineTuned, testLengths, type Settings, type Task } from './settings.ts';

export interface Test {
  step: number;    // how far training was when this was measured
  length: number;
  loss: number;
  perplexity: number;
  accuracy: number;
  byPosition: ArrayLike<number>;
}
export type RunState = 'waiting' | 'training' | 'done' | 'failed' | 'cancelled';

export interface Run {
  encoding: string;
  seed: number;
  state: RunState;
  step: number;
  steps: number;
  losses: number[];
  stepsPerSecond: number;
  tests: Map<number, Test>; // by length: the newest round in which every length was tested, so all of one step
  round: Map<number, Test>; // the newest round, perhaps not whole yet
  refused: Map<number, string>; // lengths this encoding cannot serve, and why
  parameters?: number;
  error?: string;
}

export type LabEvent = { encoding: string; seed: number } & (
  | { kind: 'start'; parameters: number }
  | { kind: 'train'; step: number; losses: ArrayLike<number>; stepsPerSecond: number } // losses since the last event
  | { kind: 'test'; test: Test }
  | { kind: 'refused'; length: number; message: string }
  | { kind: 'end' }
  | { kind: 'failed'; error: string }
);

export class Lab {
  readonly runs: Run[];
  constructor(readonly settings: Settings, readonly ownText = 0) { // bytes of the visitor's text; 0: the shipped one
    // Every encoding gets its first seed before any gets its second, so that curves of all appear early.
    this.runs = Array.from({ length: settings.seeds }, (_, seed) => settings.encodings.map((encoding): Run => ({
      encoding, seed: seed + 1, state: 'waiting', step: 0, steps: settings.steps + fineTuned(encoding), losses: [], stepsPerSecond: 0, tests: new Map(), round: new Map(), refused: new Map(),
    }))).flat();
  }

  take(event: LabEvent): void {
    const run = this.runs.find((r) => r.encoding === event.encoding && r.seed === event.seed);
    if (!run) return;
    switch (event.kind) {
      case 'start': return void Object.assign(run, { state: 'training', parameters: event.parameters });
      case 'train':
        for (let i = 0; i < event.losses.length; i++) run.losses.push(event.losses[i]!);
        return void Object.assign(run, { step: event.step, stepsPerSecond: event.stepsPerSecond });
      case 'test':
        if ([...run.round.values()].some((test) => test.step !== event.test.step)) run.round = new Map();
        run.round.set(event.test.length, event.test);
        return this.close(run);
      case 'refused':
        run.refused.set(event.length, event.message);
        return this.close(run);
      case 'end': return void (run.state = 'done');
      case 'failed': return void Object.assign(run, { state: 'failed', error: event.error });
    }
  }

  cancel(): void {
    for (const run of this.runs) if (run.state === 'waiting' || run.state === 'training') run.state = 'cancelled';
  }

  private close(run: Run): void {
    if (testLengths(this.settings).every((length) => run.round.has(length) || run.refused.has(length))) run.tests = run.round;
  }

  of(encoding: string): Run[] { return this.runs.filter((run) => run.encoding === encoding); }
  refusal(encoding: string, length: number): string | undefined {
    return this.of(encoding).map((run) => run.refused.get(length)).find(Boolean);
  }
  get started(): Run[] { return this.runs.filter((run) => run.losses.length > 0); }
}

export type Measure = 'perplexity' | 'accuracy';
export const measureOf = (task: Task): Measure => (task === 'text' ? 'perplexity' : 'accuracy');

export interface Point { encoding: string; length: number; mean: number; low: number; high: number; seeds: number; step: number; progress: number }

// One point per encoding and test length, over the seeds that have been tested there.
export function stretch(lab: Lab): Point[] {
  const measure = measureOf(lab.settings.task);
  const points: Point[] = [];
  for (const encoding of lab.settings.encodings) {
    const runs = lab.of(encoding);
    const lengths = [...new Set(runs.flatMap((run) => [...run.tests.keys()]))].sort((a, b) => a - b);
    for (const length of lengths) {
      const tests = furthest(runs, length);
      const values = tests.map((test) => test[measure]).filter(Number.isFinite);
      if (!values.length) continue;
      points.push({
        encoding, length, mean: mean(values), low: Math.min(...values), high: Math.max(...values), seeds: values.length,
        step: tests[0]!.step, progress: tests[0]!.step / runs[0]!.steps,
      });
    }
  }
  return points;
}

export interface Dot { encoding: string; x: number; y: number }

// Training losses averaged over the seeds, smoothed by a centred window, thinned to what a screen can show.
export function lossCurves(lab: Lab, most = 160): Dot[] {
  return lab.settings.encodings.flatMap((encoding) => {
    const all = lab.of(encoding).map((run) => run.losses);
    const count = Math.max(...all.map((l) => l.length));
    const losses = all.filter((l) => l.length === count);
    const sums = new Float64Array(count + 1);
    for (let i = 0; i < count; i++) sums[i + 1] = sums[i]! + mean(losses.map((l) => l[i]!));
    const half = Math.max(1, Math.round(count / 40)), stride = Math.max(1, Math.floor(count / most));
    const dots: Dot[] = [];
    for (let i = Math.max(0, (count - 1) % stride); i < count; i += stride) {
      const reach = Math.min(half, i, count - 1 - i); // shrinks at the ends, so that neither end is biased
      dots.push({ encoding, x: i + 1, y: (sums[i + reach + 1]! - sums[i - reach]!) / (2 * reach + 1) });
    }
    return dots;
  });
}

// Loss at each position of the longest sequences tested, averaged in bins that widen with the position.
export function positionCurves(lab: Lab, length: number, bins = 28): Dot[] {
  return lab.settings.encodings.flatMap((encoding) => {
    const curves = furthest(lab.of(encoding), length).map((test) => test.byPosition);
    const dots: Dot[] = [];
    for (let bin = 0, first = 0; bin < bins && first < length; bin++) {
      const last = Math.max(first + 1, Math.round(length ** ((bin + 1) / bins)));
      const values = curves.flatMap((curve) => Array.from({ length: last - first }, (_, i) => curve[first + i]!)).filter(Number.isFinite);
      if (values.length) dots.push({ encoding, x: (first + 1 + last) / 2, y: mean(values) });
      first = last;
    }
    return dots;
  });
}

// Only tests after equally many steps may be averaged: a seed that has just begun waits until it has caught up.
function furthest(runs: Run[], length: number): Test[] {
  const tests = runs.flatMap((run) => run.tests.get(length) ?? []);
  const step = Math.max(...tests.map((test) => test.step));
  return tests.filter((test) => test.step === step);
}

const mean = (values: number[]) => values.reduce((a, b) => a + b, 0) / values.length;
