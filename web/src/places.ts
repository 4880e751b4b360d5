// The addresses of the pages, and of two of them as one file to keep, where they are told apart by what follows its name.
export const places = import.meta.env.MODE === 'offline'
  ? { lab: '?', encodings: '?encodings', bench: '', file: '' }
  : { lab: './index.html', encodings: './encodings.html', bench: './bench.html', file: './lengthwise.html' };
