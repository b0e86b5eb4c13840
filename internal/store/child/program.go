package child

import "os"

// Program returns the path by which this process starts its own program again. That is the path of
// its binary, so that ps and pgrep show the program's name. Where another file has taken that path since,
// it is /proc/self/exe: the binary that runs, shown as "exe".
func Program() string {
	const running = "/proc/self/exe"
	path, err := os.Executable()
	if err != nil {
		return running
	}
	named, err := os.Stat(path)
	if err != nil {
		return running
	}
	own, err := os.Stat(running)
	if err != nil || !os.SameFile(named, own) {
		return running
	}
	return path
}
