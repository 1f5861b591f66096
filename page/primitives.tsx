// The page's small parts: icons (strokes on a grid of 16, in the colour of the text around them),
// the head of a form in a dialog, and the card that stands where there is nothing to show.
import { raw } from 'hono/html';
import type { Child } from 'hono/jsx';

const DRAWINGS = {
  inbox: '<path d="M2 9.5h3.5l1 2h3l1-2H14M2 9.5 4.2 3h7.6L14 9.5V13H2z"/>',
  sessions: '<path d="M2.5 3h11v3.5h-11zM2.5 9.5h11V13h-11zM5 4.75h.01M5 11.25h.01"/>',
  schedules: '<circle cx="8" cy="8" r="5.75"/><path d="M8 4.75V8l2.25 1.5"/>',
  workers:
    '<path d="M5 5h6v6H5zM6.5 2.5V5M9.5 2.5V5M6.5 11v2.5M9.5 11v2.5M2.5 6.5H5M2.5 9.5H5M11 6.5h2.5M11 9.5h2.5"/>',
  usage: '<path d="M2.5 13.5h11M4.5 11V8.5M8 11V3.5M11.5 11V6"/>',
  compare: '<path d="M5.5 2.5v11M10.5 2.5v11M5.5 5.5H2.5M5.5 9H2.5M13.5 5.5h-3M13.5 9h-3"/>',
  search: '<circle cx="7" cy="7" r="4.25"/><path d="m10.25 10.25 3.5 3.5"/>',
  plus: '<path d="M8 3v10M3 8h10"/>',
  more: '<path d="M3.5 8h.01M8 8h.01M12.5 8h.01"/>',
  view: '<path d="M4 2.5h8v11l-4-3-4 3z"/>',
  bell: '<path d="M3.5 11.5h9l-1.25-2V7a3.25 3.25 0 0 0-6.5 0v2.5zM6.75 13.5h2.5"/>',
  keys: '<path d="M2 4.5h12v7H2zM4.5 7h.01M7 7h.01M9.5 7h.01M11.75 7h.01M5.5 9.25h5"/>',
  running: '<circle cx="8" cy="8" r="5.5" opacity=".3"/><path d="M8 2.5A5.5 5.5 0 0 1 13.5 8"/>',
  waiting:
    '<path d="M4.5 8.5v-4a1 1 0 0 1 2 0V7.5M6.5 7V3a1 1 0 0 1 2 0v4M8.5 7V3.75a1 1 0 0 1 2 0V8M10.5 6a1 1 0 0 1 2 0v4c0 2.5-1.75 4-4.25 4-2 0-3-.75-4-2.25L2.5 9.25c-.5-1 .75-1.75 1.5-.9l.5.65"/>',
  stuck: '<circle cx="8" cy="8" r="5.5"/><path d="M8 5v3.5M8 11h.01"/>',
  failed: '<path d="m4 4 8 8M12 4l-8 8"/>',
  done: '<path d="m3.5 8.5 3 3 6-7"/>',
  parked: '<path d="M6 4v8M10 4v8"/>',
  unplugged: '<path d="M6 2v3.5M10 2v3.5M4 5.5h8V8a4 4 0 0 1-8 0zM8 12v2.5"/>',
  idle: '<circle cx="8" cy="8" r="2"/>',
  closed: '<path d="M4 8h8"/>',
  server: '<path d="M2.5 4h11v8h-11zM5 8h.01"/>',
  agents: '<circle cx="8" cy="5" r="2.5"/><path d="M3 13.5c0-3 2.25-4.5 5-4.5s5 1.5 5 4.5"/>',
  agent:
    '<circle cx="4" cy="3.5" r="1.5"/><circle cx="4" cy="12.5" r="1.5"/><circle cx="12" cy="5.5" r="1.5"/><path d="M4 5v6M12 7c0 3-8 1-8 4"/>',
  back: '<path d="m7 3-5 5 5 5M2 8h12"/>',
  read: '<path d="M3 3h6a3 3 0 0 1 3 3v7H6a3 3 0 0 1-3-3z"/>',
  details: '<path d="M2.5 3h11v10h-11zM9.5 3v10"/>',
  file: '<path d="M4 2h5l3 3v9H4zM9 2v3h3"/>',
  edit: '<path d="m3 13 .6-2.8L11 2.8 13.2 5l-7.4 7.4z"/>',
  shell: '<path d="m3 5 3 3-3 3M8 12h5"/>',
  web: '<circle cx="8" cy="8" r="5.75"/><path d="M2.25 8h11.5M8 2.25c2.3 3.2 2.3 8.3 0 11.5M8 2.25c-2.3 3.2-2.3 8.3 0 11.5"/>',
  question: '<path d="M5.5 6A2.5 2.5 0 1 1 9 8.3c-.7.3-1 .8-1 1.7M8 12.5h.01"/>',
  tool: '<path d="M8 2v4M8 10v4M2 8h4M10 8h4"/><circle cx="8" cy="8" r="2"/>',
  close: '<path d="m4.5 4.5 7 7M11.5 4.5l-7 7"/>',
} as const;

export type IconName = keyof typeof DRAWINGS;

/** Draws an icon; what it means stands next to it as a word or as `label`. */
export function Icon({ name, label }: { readonly name: IconName; readonly label?: string }) {
  const attributes = label === undefined ? { 'aria-hidden': 'true' as const } : { role: 'img', 'aria-label': label };
  return (
    <svg class="icon" viewBox="0 0 16 16" {...attributes}>
      {label === undefined ? null : <title>{label}</title>}
      {raw(DRAWINGS[name])}
    </svg>
  );
}

/** `id` names the title, by which the dialog is labelled. */
export function DialogHead({ id, title }: { readonly id: string; readonly title: string }) {
  return (
    <header class="row">
      <h2 id={id}>{title}</h2>
      <button type="button" class="plain small far" data-closes>
        Close <kbd>Esc</kbd>
      </button>
    </header>
  );
}

type Props = {
  readonly icon: IconName;
  readonly title: string;
  readonly id?: string;
  /** A title of the page itself is its heading. */
  readonly isPage?: boolean;
  readonly action?: Child;
  readonly children?: Child;
};

export function EmptyCard({ icon, title, id, isPage = false, action, children }: Props) {
  return (
    <div id={id} class="card empty">
      <Icon name={icon} />
      {isPage ? <h1>{title}</h1> : <b>{title}</b>}
      {children === undefined ? null : <p>{children}</p>}
      {action}
    </div>
  );
}
