import { useSignal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { CodeBox } from './code.tsx'
import { Icon } from './icon.tsx'
import {
  type Align,
  type MarkdownBlock,
  type Inline,
  type ListItem,
  parseBlocks,
  parseInlines,
  safeUrl,
} from './markdown.ts'
import { memo } from './memo.tsx'
import { visible } from '../../contract/hidden-characters.ts'

interface ProseProps {
  readonly text: string
  /** Whether more of it is being written. */
  readonly isWriting?: boolean
}

/** A text of a model: its Markdown as elements. No markup of the text itself becomes an element. */
export function Prose({ text, isWriting = false }: ProseProps): JSX.Element {
  return (
    <div class={isWriting ? 'prose caret' : 'prose'}>
      {parseBlocks(text).map((block, index) => (
        <ShownBlock key={index} block={block} />
      ))}
    </div>
  )
}

/** While a text is written, only its last block changes. */
const ShownBlock = memo(BlockView, (before, after) => JSON.stringify(before.block) === JSON.stringify(after.block))

function BlockView({ block }: { readonly block: MarkdownBlock }): JSX.Element {
  switch (block.type) {
    case 'paragraph':
      return <p>{inlines(block.text)}</p>
    case 'heading':
      return <Heading level={block.level}>{inlines(block.text)}</Heading>
    case 'code':
      return <CodeBox code={block.text} language={block.language} label="Code" />
    case 'quote':
      return (
        <blockquote>
          {block.blocks.map((each, index) => (
            <BlockView key={index} block={each} />
          ))}
        </blockquote>
      )
    case 'list':
      return <List start={block.start} items={block.items} />
    case 'table':
      return <ProseTable {...block} />
    case 'rule':
      return <hr />
  }
}

/** Headings of an answer stand below that of the page, whatever levels its author has left out. */
function Heading({ level, children }: { readonly level: number; readonly children: ComponentChildren }): JSX.Element {
  return <h2 class={level <= 2 ? '' : 'minor'}>{children}</h2>
}

function List({
  start,
  items,
}: {
  readonly start: number | undefined
  readonly items: readonly ListItem[]
}): JSX.Element {
  const children = items.map(({ blocks, isDone }, index) => (
    <li key={index}>
      {isDone !== undefined && (
        <input type="checkbox" checked={isDone} disabled aria-label={isDone ? 'Done' : 'To do'} />
      )}{' '}
      {blocks.map((block, at) =>
        // The text of an item needs no paragraph of its own.
        block.type === 'paragraph' && at === 0 ? (
          <span key={at}>{inlines(block.text)}</span>
        ) : (
          <BlockView key={at} block={block} />
        ),
      )}
    </li>
  ))
  return start === undefined ? <ul>{children}</ul> : <ol start={start}>{children}</ol>
}

function ProseTable({ aligns, head, rows }: Extract<MarkdownBlock, { type: 'table' }>): JSX.Element {
  const place = (column: number): Align => aligns[column] ?? 'left'
  return (
    <div class="wide-table" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {head.map((cell, column) => (
              <th key={column} scope="col" class={place(column) === 'right' ? 'num' : ''}>
                {inlines(cell)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column} class={place(column) === 'right' ? 'num' : ''}>
                  {inlines(cell)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function inlines(text: string): ComponentChildren {
  return parseInlines(text).map(inlineView)
}

function inlineView(inline: Inline, index: number): ComponentChildren {
  switch (inline.type) {
    case 'text':
      return visible(inline.text)
    case 'code':
      return <code key={index}>{visible(inline.text)}</code>
    case 'break':
      return <br key={index} />
    case 'strong':
      return <strong key={index}>{inline.inlines.map(inlineView)}</strong>
    case 'emphasis':
      return <em key={index}>{inline.inlines.map(inlineView)}</em>
    case 'deleted':
      return <del key={index}>{inline.inlines.map(inlineView)}</del>
    case 'link':
      return (
        <Link key={index} url={inline.url}>
          {inline.inlines.map(inlineView)}
        </Link>
      )
    case 'image':
      return <ImageLink key={index} url={inline.url} alt={inline.alt} />
  }
}

/** A link of a text, which says where it leads. One that leads to no page is text. */
export function Link({ url, children }: { readonly url: string; readonly children: ComponentChildren }): JSX.Element {
  const href = safeUrl(url)
  if (href === undefined) return <>{children}</>
  return (
    <a class="link" href={href} target="_blank" rel="noopener noreferrer" title={visible(href)}>
      {children}
    </a>
  )
}

/** Images that a text holds itself. */
const DATA_IMAGE = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[A-Za-z0-9+/=]+$/

/**
 * An image of a text. The page loads none from elsewhere, since their addresses could carry data out: they are opened by a
 * click, in a tab of their own.
 */
function ImageLink({ url, alt }: { readonly url: string; readonly alt: string }): JSX.Element {
  const isShown = useSignal(false)
  const name = visible(alt) || 'image'
  if (DATA_IMAGE.test(url)) {
    if (isShown.value) return <img class="shown" src={url} alt={name} />
    return (
      <button type="button" class="chip" onClick={() => (isShown.value = true)}>
        Show image: {name}
      </button>
    )
  }
  const href = safeUrl(url)
  if (href === undefined || href.startsWith('mailto:')) return <>{name}</>
  return (
    <a class="chip" href={href} target="_blank" rel="noopener noreferrer" title={visible(href)}>
      <Icon name="right" isSmall />
      Image: {name} ({new URL(href).host})
    </a>
  )
}
