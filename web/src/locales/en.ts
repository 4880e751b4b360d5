export const en = {
  tagline: 'Train short, test long',
  headline: (trained: number, longest: number) => `Trained on ${trained}. Tested on ${longest}.`,
  lead: 'Tiny transformers, training in your browser. They differ only in how they are told where a token is.',
  theme: 'Light or dark',
  copyLink: 'Copy link', linkCopied: 'Link copied',
  language: 'Language',

  encodings: 'Encodings', sixOfThem: 'six', all: 'all', none: 'none',
  about: (title: string) => `About ${title}`,
  addSpec: 'Your own mix', addSpecHint: 'rope:base=500000+log_n', add: 'Add', remove: 'Remove',
  chooseOne: 'Choose at least one encoding.',
  task: 'Task', tasks: { text: 'text', copy: 'copy', recall: 'recall' },
  taskNotes: {
    text: 'Predict the next byte of presidential addresses that were not in training.',
    copy: 'Repeat a random string after a separator.',
    recall: 'Answer with the value that followed a key earlier in the sequence.',
  },
  ownText: 'Own text…', ownTextUse: 'Use this text', ownTextNone: 'Use the shipped text',
  ownTextNote: 'The first 90 % trains, the rest tests. It stays on this machine and is not part of the link.',
  ownTextFile: 'Text file', ownTextArea: 'Text', ownTextShort: (bytes: number) => `At least ${bytes.toLocaleString('en')} bytes are needed.`,
  ownTextUsed: (bytes: number) => `own text, ${bytes.toLocaleString('en')} bytes`,
  trainedLength: 'Trained length', reach: 'Tested up to', size: 'Model',
  sizes: { tiny: 'tiny', small: 'small', medium: 'medium' },
  steps: 'Training steps', seeds: 'Seeds',
  parameters: (least: number, most: number) => (least === most ? '' : `${least.toLocaleString('en')} to `) + `${most.toLocaleString('en')} parameters`,

  train: 'Train and stretch', again: 'Train again', retrain: 'Start again with these settings',
  pause: 'Pause', resume: 'Resume', cancel: 'Cancel',
  startsIn: (seconds: number) => `Starts by itself in ${seconds} s`, wait: 'Not now',
  state: {
    idle: 'Ready.', loading: 'Loading the engine…', running: 'Training.', paused: 'Paused.',
    cancelled: 'Cancelled. What was measured stays.', done: 'Done.', failed: 'Stopped by an error.',
  },
  runState: { waiting: 'waiting', training: 'training', done: 'done', failed: 'failed' }, testing: 'testing', refused: 'refused', refusedPast: (n: number) => `refuses past ${n}`,
  finishedStatus: (runs: number) => `${runs} ${runs === 1 ? 'run' : 'runs'} trained and tested.`,

  perplexity: 'Perplexity', accuracy: 'Accuracy',
  perplexityAxis: 'perplexity per byte, lower is better', accuracyAxis: 'accuracy, higher is better',
  testLength: 'test length', longer: 'longer than trained', trained: (n: number) => `trained on ${n}`,
  stretchTitle: 'The stretch', stretchEmpty: 'The first curve appears here as soon as a model has been tested.',
  lossTitle: 'Loss while training', step: 'step', loss: 'loss', lossAxis: 'loss, nats per token',
  positionTitle: (n: number) => `Loss by position, in sequences of ${n}`, position: 'position',
  positionTitleEmpty: 'Loss by position',
  untested: 'not measured yet', soFar: (percent: number) => `after ${percent} % of training`,
  runsTitle: 'Runs', seed: 'seed', perSecond: (n: number) => `${n} steps/s`, left: (time: string) => `${time} left`,
  seconds: (n: number) => (n < 90 ? `${Math.ceil(n)} s` : `${Math.round(n / 60)} min`),
  resultsTitle: 'Numbers', resultsEmpty: 'Numbers appear here once a model has been tested.',
  atStep: 'tested at step', mean: 'mean', spread: 'lowest and highest seed',
  downloadCsv: 'CSV', downloadJson: 'JSON', downloadSvg: 'SVG', download: 'Download', downloadChart: (title: string) => `Download as SVG: ${title}`,
  protocol: (p: { parameters: string; width: number; layers: number; heads: number; tokens: string; batch: number; length: number; steps: number; seeds: number }) =>
    `Each model: ${p.layers} layers of width ${p.width}, ${p.heads} heads${p.parameters && `, ${p.parameters}`}; ` +
    `${p.tokens} training tokens (${p.steps} steps of ${p.batch} sequences of ${p.length}); ` +
    (p.seeds > 1 ? `${p.seeds} seeds, the band runs from the lowest to the highest. ` : 'one seed, so no spread is known. '),
  protocolTest: {
    text: 'Test: unseen documents cut into whole sequences of each length, every position counted, no sliding window.',
    copy: 'Test: fresh random strings of each length; only the repeated half is scored.',
    recall: 'Test: fresh random sequences of each length; only the answers are scored.',
  },
  tinyNote: 'Tiny models, minutes of training: orderings carry over better than numbers do.',

  door: {
    ids: 'ids', input: 'input', rotation: 'rotation', bias: 'bias',
    content: 'content', pattern: 'pattern', scale: 'scale', value: 'value',
  },
  doorNote: {
    ids: 'the number that a token carries', input: 'a vector added to the embedding', rotation: 'a rotation of q and k',
    bias: 'a number added to the score', content: 'a score term that depends on content', pattern: 'who may look at whom',
    scale: 'a factor on the scores of a row', value: 'a term added to what is read',
  },
  opens: 'Opens', noDoor: 'no door at all', pastL: 'Past the trained length', paper: 'Paper', learned: 'Has learned parameters.',
  past: { same: 'by design the same', degrades: 'gets worse', refuses: 'refuses' } as Record<string, string>,
  block: {
    title: 'A transformer block and its doors', token: 'token', embedding: 'embedding', scores: 'scores', softmax: 'softmax', read: 'read', mlp: 'MLP', close: 'Close',
  },
};
export type Strings = typeof en;
