import { useSignal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useId } from 'preact/hooks'
import { isObject, type JsonObject, type JsonSchema } from '../../contract/json.ts'
import { visible } from '../../contract/hidden-characters.ts'
import {
  choicesOf,
  emptyOf,
  inputType,
  kindOf,
  propertiesOf,
  requiredOf,
  resolveSchema,
  variantsOf,
} from './schema-value.ts'

export interface FieldProps {
  readonly schema: JsonSchema
  /** The whole schema, which `$ref` points into. */
  readonly root: JsonSchema
  /** Empty for the whole value. */
  readonly name: string
  /** Undefined where nothing is filled in. */
  readonly value: unknown
  readonly isRequired: boolean
  readonly onChange: (value: unknown) => void
}

/** A field of the kind that fits a schema; of an object or a list, all its fields. */
export function Field(props: FieldProps): JSX.Element {
  const schema = resolveSchema(props.schema, props.root)
  const resolvedProps = { ...props, schema }
  switch (kindOf(schema)) {
    case 'object':
      return <ObjectField {...resolvedProps} />
    case 'list':
      return <ListField {...resolvedProps} />
    case 'variants':
      return <VariantField {...resolvedProps} />
    case 'choice':
      return <ChoiceField {...resolvedProps} />
    case 'boolean':
      return <BooleanField {...resolvedProps} />
    case 'number':
    case 'integer':
      return <NumberField {...resolvedProps} />
    case 'text':
      return <TextField {...resolvedProps} />
    case 'json':
      return <JsonField {...resolvedProps} />
  }
}

interface LabelledProps extends Pick<FieldProps, 'schema' | 'name' | 'isRequired'> {
  readonly children: (id: string, describedBy: string) => ComponentChildren
}

/** A field with its name and description. */
function Labelled({ schema, name, isRequired, children }: LabelledProps): JSX.Element {
  const id = useId()
  const { title, description } = schema
  return (
    <div class="field">
      <label for={id}>
        {visible(typeof title === 'string' && name === '' ? title : name || 'Value')}
        {!isRequired && <span class="hint"> optional</span>}
      </label>
      {children(id, `${id}-about`)}
      {typeof description === 'string' && (
        <small id={`${id}-about`} class="hint">
          {visible(description)}
        </small>
      )}
    </div>
  )
}

function TextField({ value, onChange, ...props }: FieldProps): JSX.Element {
  const type = inputType(props.schema)
  const text = typeof value === 'string' ? value : ''
  const isRequired = props.isRequired && props.schema['minLength'] !== 0
  const read = (written: string) => onChange(written === '' && !props.isRequired ? undefined : written)
  const isLong = type === 'text' && /text|body|content|message|module/i.test(props.name)
  return (
    <Labelled {...props}>
      {(id, about) => {
        const shared = { id, 'aria-describedby': about, required: isRequired, value: text }
        if (isLong) return <textarea rows={3} {...shared} onInput={(event) => read(event.currentTarget.value)} />
        if (type === 'text') return <input {...shared} onInput={(event) => read(event.currentTarget.value)} />
        return <input type={type} {...shared} onInput={(event) => read(event.currentTarget.value)} />
      }}
    </Labelled>
  )
}

function NumberField({ value, onChange, ...props }: FieldProps): JSX.Element {
  const { minimum, maximum, type } = props.schema
  return (
    <Labelled {...props}>
      {(id, about) => (
        <input
          id={id}
          aria-describedby={about}
          type="number"
          step={type === 'integer' ? 1 : 'any'}
          {...(typeof minimum === 'number' && { min: minimum })}
          {...(typeof maximum === 'number' && { max: maximum })}
          required={props.isRequired}
          value={typeof value === 'number' ? value : ''}
          onInput={({ currentTarget: { value: text } }) => onChange(text === '' ? undefined : Number(text))}
        />
      )}
    </Labelled>
  )
}

function BooleanField({ value, onChange, ...props }: FieldProps): JSX.Element {
  const id = useId()
  const { description } = props.schema
  return (
    <div class="field">
      <label class="check">
        <input
          type="checkbox"
          aria-describedby={`${id}-about`}
          checked={value === true}
          onChange={({ currentTarget: { checked } }) => onChange(checked || props.isRequired ? checked : undefined)}
        />{' '}
        {visible(props.name || 'Yes')}
      </label>
      {typeof description === 'string' && (
        <small id={`${id}-about`} class="hint">
          {visible(description)}
        </small>
      )}
    </div>
  )
}

function ChoiceField({ value, onChange, ...props }: FieldProps): JSX.Element {
  const choices = choicesOf(props.schema)
  const at = choices.findIndex((choice) => JSON.stringify(choice) === JSON.stringify(value))
  return (
    <Labelled {...props}>
      {(id, about) => (
        <select
          id={id}
          aria-describedby={about}
          required={props.isRequired}
          value={at < 0 ? '' : String(at)}
          onChange={({ currentTarget: { value: index } }) =>
            onChange(index === '' ? undefined : choices[Number(index)])
          }
        >
          <option value="">{props.isRequired ? 'Choose…' : 'Left out'}</option>
          {choices.map((choice, index) => (
            <option key={index} value={String(index)}>
              {visible(typeof choice === 'string' ? choice : JSON.stringify(choice))}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  )
}

/** Any other value, written as JSON. */
function JsonField({ value, onChange, ...props }: FieldProps): JSX.Element {
  const text = useSignal(value === undefined ? '' : JSON.stringify(value))
  const fault = useSignal('')
  const read = (written: string, field: HTMLTextAreaElement) => {
    text.value = written
    try {
      onChange(written.trim() === '' ? undefined : JSON.parse(written))
      fault.value = ''
    } catch (error) {
      fault.value = error instanceof Error ? error.message : String(error)
    }
    field.setCustomValidity(fault.value)
  }
  return (
    <Labelled {...props}>
      {(id, about) => (
        <textarea
          id={id}
          class="in code"
          rows={2}
          placeholder="JSON"
          spellcheck={false}
          aria-describedby={about}
          aria-invalid={fault.value !== ''}
          required={props.isRequired && props.name !== ''}
          value={text.value}
          onInput={({ currentTarget }) => read(currentTarget.value, currentTarget)}
        />
      )}
    </Labelled>
  )
}

function ObjectField({ schema, root, name, value, isRequired, onChange }: FieldProps): JSX.Element {
  const fields = propertiesOf(schema)
  const required = requiredOf(schema)
  const values: JsonObject = isObject(value) ? value : {}
  const content = fields.map(([field, each]) => (
    <Field
      key={field}
      schema={each}
      root={root}
      name={field}
      value={values[field]}
      isRequired={required.includes(field)}
      onChange={(next) => onChange(withMember(values, field, next))}
    />
  ))
  if (name === '') return fields.length > 0 ? <>{content}</> : <p class="hint">It takes no arguments.</p>
  // A required object may hold itself: the form shows as much as has been filled in.
  if (value === undefined)
    return (
      <button type="button" class="link" onClick={() => onChange(emptyOf(schema, root))}>
        Add {visible(name)}
      </button>
    )
  return (
    <fieldset>
      <legend>
        {visible(name)} {!isRequired && <Leave name={name} onLeave={() => onChange(undefined)} />}
      </legend>
      {content}
    </fieldset>
  )
}

function ListField({ schema, root, name, value, isRequired, onChange }: FieldProps): JSX.Element {
  const items: readonly unknown[] = Array.isArray(value) ? value : []
  const of: JsonObject = isObject(schema['items']) ? schema['items'] : {}
  const set = (next: readonly unknown[]) => onChange(next.length === 0 && !isRequired ? undefined : next)
  return (
    <fieldset>
      <legend>{visible(name || 'Items')}</legend>
      {items.map((item, index) => (
        <div key={index} class="item-field">
          <Field
            schema={of}
            root={root}
            name={`${name} ${index + 1}`}
            value={item}
            isRequired
            onChange={(next) => set(items.with(index, next))}
          />
          <Leave name={`${name} ${index + 1}`} onLeave={() => set(items.toSpliced(index, 1))} />
        </div>
      ))}
      <button type="button" class="link" onClick={() => set([...items, emptyOf(of, root) ?? null])}>
        Add {visible(name || 'an item')}
      </button>
    </fieldset>
  )
}

function VariantField({ schema, root, name, value, isRequired, onChange }: FieldProps): JSX.Element {
  const variants = variantsOf(schema).map((each) => resolveSchema(each, root))
  const chosen = useSignal(0)
  const variant = variants[chosen.value] ?? {}
  return (
    <fieldset>
      <legend>{visible(name || 'Value')}</legend>
      <select
        aria-label={`Kind of ${name || 'value'}`}
        value={String(chosen.value)}
        onChange={({ currentTarget }) => {
          chosen.value = Number(currentTarget.value)
          onChange(emptyOf(variants[chosen.value] ?? {}, root))
        }}
      >
        {variants.map((each, index) => (
          <option key={index} value={String(index)}>
            {visible(titleOf(each, index))}
          </option>
        ))}
      </select>
      <Field
        key={chosen.value}
        schema={variant}
        root={root}
        name={name}
        value={value}
        isRequired={isRequired}
        onChange={onChange}
      />
    </fieldset>
  )
}

function Leave({ name, onLeave }: { readonly name: string; readonly onLeave: () => void }): JSX.Element {
  return (
    <button type="button" class="link" aria-label={`Leave out ${name}`} onClick={onLeave}>
      Leave out
    </button>
  )
}

function withMember(values: JsonObject, name: string, value: unknown): JsonObject {
  const { [name]: _, ...others } = values
  return value === undefined ? others : { ...others, [name]: value }
}

function titleOf({ title, type }: JsonObject, index: number): string {
  return typeof title === 'string' ? title : typeof type === 'string' ? type : `Kind ${index + 1}`
}
