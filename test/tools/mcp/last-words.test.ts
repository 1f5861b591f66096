// What a program that ended printed last: the words that say why, as runtimes of today print them
// (L75).
import { expect, test } from 'vitest';
import { chooseLastWords } from '../../../tools/mcp/stdio.ts';

const frames = '    at node:internal/main/run_main_module:28:49';

test.each([
  [
    'Node, a module that is not there',
    `node:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\nError: Cannot find module '/srv/a.js'\nRequire stack:\n- /srv/b.js\n    at Module._load (node:internal/modules/cjs/loader:1038:27)\n${frames} {\n  code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}\n\nNode.js v20.20.2\n`,
    "Error: Cannot find module '/srv/a.js'",
  ],
  [
    'Node, a text of its own that was thrown',
    `/srv/a.mjs:1\nthrow 'no token';\n^\nno token\n(Use \`node --trace-uncaught ...\` to show where the exception was thrown)\n\nNode.js v20.20.2\n`,
    'no token',
  ],
  [
    'Node, a rejection that nobody handled',
    'node:internal/process/promises:394\n      ^\n\n[UnhandledPromiseRejection: This error originated elsewhere. The promise rejected with the reason "x".] {\n  code: \'ERR_UNHANDLED_REJECTION\'\n}\n\nNode.js v20.20.2\n',
    '[UnhandledPromiseRejection: This error originated elsewhere. The promise rejected with the reason "x".]',
  ],
  [
    'Python, with what its settings lack',
    'Traceback (most recent call last):\n  File "x.py", line 3, in <module>\n    s = S()\npydantic_core.ValidationError: 1 validation error for Settings\napi_key\n  Field required [type=missing]\n',
    'pydantic_core.ValidationError: 1 validation error for Settings api_key Field required [type=missing]',
  ],
  [
    'Go',
    'panic: set TOKEN\n\ngoroutine 1 [running]:\nmain.main()\n\t/srv/main.go:2 +0x24\nexit status 2\n',
    'panic: set TOKEN',
  ],
  [
    'Rust',
    "thread 'main' (321) panicked at src/main.rs:1:65:\nno token\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
    "thread 'main' (321) panicked at src/main.rs:1:65: no token",
  ],
  [
    'Java',
    'Exception in thread "main" java.lang.RuntimeException: start failed\n\tat A.main(A.java:1)\nCaused by: java.lang.IllegalStateException: no token\n\tat A.main(A.java:1)\n\t... 5 more\n',
    'Caused by: java.lang.IllegalStateException: no token',
  ],
  [
    'npm',
    'npm error code E404\nnpm error 404 Not Found - GET https://registry.example/x\nnpm error 404\nnpm error 404 Note that you can also install from a\nnpm error 404 tarball, folder, http url, or git url.\nnpm error A complete log of this run can be found in: /x.log\n',
    'npm error 404 Not Found - GET https://registry.example/x',
  ],
  [
    'docker',
    "docker: Cannot connect to the Docker daemon.\n\nRun 'docker run --help' for more information\n",
    'docker: Cannot connect to the Docker daemon.',
  ],
  ['a program that says how it is used', 'starting\nUsage: server --dir DIR\n', 'Usage: server --dir DIR'],
  ['a program that says nothing', '\n', ''],
])('%s', (_, printed, words) => {
  expect(chooseLastWords(printed)).toBe(words);
});
