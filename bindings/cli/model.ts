// The model of a command: its file, and how its weights are kept.

import { Option, type Command } from 'commander';
import { load } from '../load.js';
import { PRECISIONS, type Model, type Precision } from '../model.js';
import { integerArgument, readBytes } from './arguments.js';

export interface ModelOptions {
  model: string;
  precision: Precision;
  threads: number;
}

export function withModel(command: Command): Command {
  return command
    .requiredOption('--model <file>', 'the model: .safetensors of this package, or a llama2.c checkpoint (.bin)')
    .addOption(new Option('--precision <p>', 'how the weights are kept: f16 and int8 need a half and a quarter of the memory, int8 is faster')
      .choices([...PRECISIONS]).default('f32'))
    .option('--threads <n>', 'threads that compute, at most 16', integerArgument(1, 16), 1);
}

export async function readModel({ model: path, precision, threads }: ModelOptions): Promise<Model> {
  const model = (await load({ threads })).loadModel(await readBytes('model', path));
  if (precision !== 'f32') model.quantize(precision);
  return model;
}
