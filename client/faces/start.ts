// What a face needs before it knows what is asked of it: problems, colours, what hides secrets, the
// version. Light enough for `perdure --version`.
export { COLUMNS, detectPaint, isPlain, oneLine, shellWord } from '../paint.ts';
export { ClientProblem } from '../problem.ts';
export { createRedactor } from '../../worker/redact.ts';
export { VERSION } from '../../worker/version.ts';
