import { Command } from 'commander';
import { integerArgument, jsonArgument, readBytes } from './arguments.js';
import { readModel, withModel, type ModelOptions } from './model.js';
import { printJson, printTable } from './output.js';

export function lossCommand(): Command {
  return withModel(new Command('loss')
    .description('Mean negative log-likelihood (nats) of the next token in each window of positions, in one pass over all tokens.'))
    .requiredOption('--tokens <file.json>', 'the tokens: a JSON array of ids')
    .option('--window <n>', 'positions in a window', integerArgument(1), 128)
    .option('--json', 'print {"window":n,"losses":[…],"mean":x}')
    .addHelpText('after', `
The pass is as long as the list of tokens, past the trained length or not: windows past it show how the model's position
encoding stretches. Window 0 predicts tokens 1 … n, the last window may be shorter.

Example:
  lengthwise loss --model stories260K.bin --tokens story.json --window 128`)
    .action(async (options: ModelOptions & { tokens: string; window: number; json?: boolean }) => {
      const tokens = parseTokens(options.tokens, await readBytes('token file', options.tokens));
      const model = await readModel(options);
      const losses = model.losses(tokens);
      const windows = Array.from({ length: Math.ceil(losses.length / options.window) }, (_, i) =>
        average(losses.subarray(i * options.window, (i + 1) * options.window)));
      if (options.json) return printJson({ window: options.window, losses: windows, mean: average(losses) });
      const trained = model.config.trainedLength;
      printTable(['positions', 'loss', ''], windows.map((loss, i) => {
        const [first, last] = [i * options.window, Math.min((i + 1) * options.window, losses.length) - 1];
        return [`${first} – ${last}`, loss.toFixed(4), last >= trained ? `past the trained ${trained}` : ''];
      }));
    });
}

function parseTokens(path: string, bytes: Uint8Array): number[] {
  let value: unknown;
  try {
    value = jsonArgument(new TextDecoder().decode(bytes));
  } catch {
    value = undefined;
  }
  if (!Array.isArray(value)) throw new Error(`the token file ${path} is not a JSON array of token ids`);
  return value;
}

function average(values: Float32Array): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
