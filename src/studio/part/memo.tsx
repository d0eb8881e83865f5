import { Component, type FunctionComponent, type JSX } from 'preact'

/** Makes a component that is drawn again only if its properties changed, as `isSame` compares them. */
export function memo<Props extends object>(
  Inner: FunctionComponent<Props>,
  isSame: (before: Props, after: Props) => boolean = isEach,
): new () => Component<Props> {
  return class Memo extends Component<Props> {
    override shouldComponentUpdate(next: Readonly<Props>): boolean {
      return !isSame(this.props, next)
    }

    override render(): JSX.Element {
      return <Inner {...this.props} />
    }
  }
}

function isEach<Props extends object>(before: Props, after: Props): boolean {
  const [a, b] = [Object.entries(before), new Map<string, unknown>(Object.entries(after))]
  return a.length === b.size && a.every(([name, value]) => b.has(name) && b.get(name) === value)
}
