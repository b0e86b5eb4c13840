package config

// The values of LogFormat.
const (
	LogText = "text"
	LogJSON = "json"
)

type loggingFlags struct {
	LogFormat string
}

func (c *loggingFlags) add(f *Flags) {
	f.Group("Logging")
	f.Choice(&c.LogFormat, "log-format", []string{LogText, LogJSON},
		"`format` of the log on standard error: text or json")
}
