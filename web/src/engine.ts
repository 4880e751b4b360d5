// The package, as this page uses it: the catalogue, and an experiment whose events say which encoding and seed they are of.
import { experiment, load, phases, type EncodingDescriptor, type ExperimentEvent, type Lengthwise } from 'lengthwise';
import { texts } from 'lengthwise/texts';
import * as sample from 'virtual:sample-text';
import type { LabEvent } from './lab.ts';
import { modulesOf, restoreOwn } from './own.ts';
import { batch, fineTuneLength, sizes, testLengths, type Settings } from './settings.ts';

export type Descriptor = EncodingDescriptor;
export interface Text { train: Uint8Array; test: Uint8Array }
export interface Session { pause(): void; resume(): void; cancel(): void; readonly finished: Promise<void> }

let loaded: Promise<Lengthwise> | undefined;
export const engine = (): Promise<Lengthwise> => (loaded ??= load().then(async (lengthwise) => { await restoreOwn(lengthwise); return lengthwise; }));
export const catalogue = (): Promise<Descriptor[]> => engine().then((lengthwise) => lengthwise.encodings(texts));

/** What is wrong with an encoding in the models of an experiment, in the engine's words; nothing if it is right. */
export function faultOf(lengthwise: Lengthwise, encoding: string, settings: Settings): string {
  const { size, length } = settings;
  try {
    const { trained, tested, fineTune } = phases(encoding), model = lengthwise.model({ ...sizes[size], trainedLength: length, encoding: trained });
    try {
      if (modulesOf([encoding]).length) model.losses(new Uint8Array(length)); // only then are the visitor's functions called
      const other = tested === null ? undefined : model.withEncoding(tested);
      if (fineTune) other!.losses(new Uint8Array(fineTuneLength(settings)));
      other?.dispose();
    } finally {
      model.dispose();
    }
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

let shipped: Promise<Text> | undefined;
const shippedText = () => (shipped ??= Promise.all([bytes(sample.train), bytes(sample.test)]).then(([train, test]) => ({ train, test })));

async function bytes(url: string): Promise<Uint8Array> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${answer.statusText}`);
  return new Uint8Array(await answer.arrayBuffer());
}

const curvesPerRun = 8; // tests while training goes on, so that a curve is there early and can be watched
const testTokens = 8192; // of each length: a test then takes a small part of the time that training takes

export function begin(settings: Settings, own: Text | undefined, on: (event: LabEvent) => void): Session {
  const abort = new AbortController();
  let running: ReturnType<typeof experiment> | undefined, paused = false;

  async function perform(): Promise<void> {
    const text = settings.task === 'text' ? own ?? (await shippedText()) : undefined;
    if (abort.signal.aborted) return;
    running = experiment({
      encodings: settings.encodings, register: modulesOf(settings.encodings), task: settings.task, text, trainLength: settings.length, testLengths: testLengths(settings),
      steps: settings.steps, testEvery: Math.ceil(settings.steps / curvesPerRun), testTokens, seeds: settings.seeds, batch, model: sizes[settings.size], fineTuning: { length: fineTuneLength(settings) },
      workers: Math.min(navigator.hardwareConcurrency || 2, 16), signal: abort.signal,
      onProgress: (event) => on({ ...running!.runs[event.run]!, ...translate(event) }),
    });
    if (paused) running.pause();
    await running.finished;
  }

  return {
    pause() { paused = true; running?.pause(); },
    resume() { paused = false; running?.resume(); },
    cancel() { abort.abort(); },
    finished: perform(),
  };
}

function translate(event: ExperimentEvent): DistributiveOmit<LabEvent, 'encoding' | 'seed'> {
  switch (event.type) {
    case 'start': return { kind: 'start', parameters: event.parameters };
    case 'train': return { kind: 'train', step: event.step, losses: event.losses, stepsPerSecond: event.stepsPerSecond };
    case 'test': return { kind: 'test', test: { ...event.result, step: event.step, length: event.length } };
    case 'refused': return { kind: 'refused', length: event.length, message: event.message };
    case 'end': return { kind: 'end' };
    case 'failed': return { kind: 'failed', error: event.message };
  }
}

type DistributiveOmit<T, K extends keyof any> = T extends unknown ? Omit<T, K> : never;
