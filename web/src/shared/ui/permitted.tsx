// A button of what changes something: where the role of this browser may not, it is there, disabled, and says why.
import type { ComponentChildren } from 'preact';
import { type Need, refusalOf, useIdentity } from '@/shared/api/identity';

export function PermittedButton(props: {
  need: Need; // the least role
  owner?: string | undefined; // whose it must be; undefined: nobody's, or not known yet
  class?: string;
  label?: string | undefined; // for those who hear it, where the text alone says too little
  disabled?: boolean;
  onClick: () => void;
  children: ComponentChildren;
}) {
  const { need, owner, label, disabled = false, onClick, children } = props;
  const refusal = refusalOf(useIdentity(), need, owner);
  return (
    <button
      type="button"
      class={props.class ?? 'button button-small'}
      disabled={disabled || refusal !== ''}
      title={refusal}
      aria-label={label}
      onClick={onClick}
    >
      {children}
    </button>
  );
}
