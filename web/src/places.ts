// The addresses of the two pages, and of both as one file to keep. Where all is one file they are told apart by what follows its name.
export const places = import.meta.env.MODE === 'offline'
  ? { lab: '?', encodings: '?encodings', file: '' }
  : { lab: './index.html', encodings: './encodings.html', file: './lengthwise.html' };
