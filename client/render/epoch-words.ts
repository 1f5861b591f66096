// Explains to people why the beginning of a conversation is sent anew.
import type { EpochEntry } from '../../store/log/entries.ts';

/**
 * Says why the system prompt and the tools are sent anew; null when they are sent for the first
 * time.
 */
export function epochText({ why }: Pick<EpochEntry, 'why'>): string | null {
  switch (why) {
    case 'first':
      return null;
    case 'compacted':
      return 'after the compaction the system prompt and the tools are sent as they are now';
    case 'tools':
      return 'a tool came, takes other inputs, or cannot stay: the tools are sent anew, and thinking from before is not sent on';
    case 'server':
      return 'the server no longer takes how changes were told: they are told otherwise, and thinking from before is not sent on';
    case 'summary_refused':
      return 'the API does not take its own summary, as after a change of account or platform: it is sent in words, and thinking from before is not sent on';
    case 'older':
      return 'a newer version goes on: thinking from before is not sent on';
    case 'refused':
      return 'the API found earlier thinking bound to something else: it is not sent on (a defect of Perdure: please report it)';
  }
}
