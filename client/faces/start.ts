// The basics of every start: problems, colours, redaction of secrets, the version. Light enough for
// `perdure --version`.
export { COLUMNS, detectPaint, isPlain, oneLine, shellWord } from '../paint.ts';
export { ClientProblem } from '../problem.ts';
export { createRedactor } from '../../worker/redact.ts';
export { VERSION } from '../../worker/version.ts';
