// The configuration of all cases: each says by files in its folder which hook is meant for it.
import delivers from '../../support/crash-config.mjs';

const asksOnceMore =
  'test -e asks-again || exit 0; echo ran >> hooks.log; test -e go || sleep 60; test -e told || { touch told; echo "once more" >&2; exit 2; }';

/**
 * The second time it is asked, it finds `pids` and ends at once. What it has started leaves its
 * session.
 */
const hangs = (marker) =>
  `test -e ${marker} || exit 0; echo told >> told.log; test -e pids && exit 0; setsid sleep 300 & echo $$ $! > pids.new; mv pids.new pids; wait`;

export default {
  ...delivers,
  webFetch: { privateHosts: ['127.0.0.1'] },
  models: { 'claude-sonnet-': { window: 30_000, maxOutput: 8_000, price: null } },
  hooks: {
    stop: [{ command: asksOnceMore }, { command: hangs('hangs-at-stop') }],
    postSampling: [{ command: hangs('hangs') }],
    waiting: [{ command: hangs('hangs-at-wait') }],
  },
};
