// What stands where there is nothing to show: what that means, and what to do.
import type { Child } from 'hono/jsx';
import { Icon, type IconName } from './icons.tsx';

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
