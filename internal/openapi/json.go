package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v4"
)

// JSON converts YAML to JSON without blanks, in the order of the YAML.
func JSON(text []byte) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("cannot read YAML: %w", err)
	}
	var out bytes.Buffer
	err := write(&out, document.Content[0])
	return out.Bytes(), err
}

func write(out *bytes.Buffer, node *yaml.Node) error {
	switch node.Kind {
	case yaml.AliasNode:
		return write(out, node.Alias)
	case yaml.MappingNode:
		return writeAll(out, node.Content, '{', '}')
	case yaml.SequenceNode:
		return writeAll(out, node.Content, '[', ']')
	}
	var value any
	if err := node.Decode(&value); err != nil {
		return fmt.Errorf("line %d: %w", node.Line, err)
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	out.Truncate(out.Len() - 1) // the line break of Encode
	return err
}

// writeAll writes the elements of an array, or the names and values of an object.
func writeAll(out *bytes.Buffer, nodes []*yaml.Node, begin, end byte) error {
	out.WriteByte(begin)
	for i, node := range nodes {
		if begin == '{' && i%2 == 1 {
			out.WriteByte(':')
		} else if i > 0 {
			out.WriteByte(',')
		}
		if err := write(out, node); err != nil {
			return err
		}
	}
	out.WriteByte(end)
	return nil
}
