// The model of a command: its file, and how its weights are kept.

import { Option, type Command } from 'commander';
import { load } from '../load.js';
import { PRECISIONS, type Model, type Precision } from '../model.js';
import { integerArgument, readBytes } from './arguments.js';
import { withModules } from './modules.js';

export interface ModelOptions {
  model: string;
  encoding?: string;
  precision: Precision;
  threads: number;
}

export function withModel(command: Command): Command {
  return command
    .requiredOption('--model <file>', 'the model: .safetensors of this package, or a llama2.c checkpoint (.bin)')
    .option('--encoding <spec>', 'another encoding than the one it was trained with, as in yarn:factor=4; options are not inherited, and it must learn nothing new')
    .addOption(new Option('--precision <p>', 'how the weights are kept: f16 and int8 need a half and a quarter of the memory, int8 is faster')
      .choices([...PRECISIONS]).default('f32'))
    .option('--threads <n>', 'threads that compute, at most 16', integerArgument(1, 16), 1);
}

export async function readModel({ model: path, encoding, precision, threads }: ModelOptions): Promise<Model> {
  const lw = await load({ threads, inferenceOnly: true });
  let model = lw.loadModel(await readBytes('model', path));
  if (encoding !== undefined) {
    const { specs: [spec], modules } = await withModules([encoding]), trained = model;
    for (const definition of modules.values()) lw.register(definition);
    model = trained.withEncoding(spec!);
    trained.dispose();
  }
  if (precision !== 'f32') model.quantize(precision);
  return model;
}
