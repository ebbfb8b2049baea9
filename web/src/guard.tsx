// A part of a page that broken data cannot take the whole page down with.
import { Component, type ComponentChildren } from "preact";
import { Text } from "./text";

interface Properties {
  title: string;
  children: ComponentChildren;
}

export class Guard extends Component<Properties, { failed: string | null }> {
  override state = { failed: null };

  override componentDidCatch(error: unknown): void {
    this.setState({ failed: error instanceof Error ? error.message : String(error) });
  }

  override render(): ComponentChildren {
    if (this.state.failed === null) return this.props.children;
    return (
      <p class="problem">
        {this.props.title} cannot be drawn: the data are damaged. <Text value={this.state.failed} limit={300} />
      </p>
    );
  }
}
