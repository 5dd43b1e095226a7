#!/usr/bin/env perl
# Maps a git repository. Needs git and perl-base. Reads only; runs nothing of the repository.
use strict;
use warnings;
use utf8;
use Getopt::Long qw(GetOptionsFromArray :config no_ignore_case);
use List::Util qw(max min sum0);

my $USAGE = <<'END';
usage: tour.pl map [REPOSITORY] [--months N] [--top N]
       tour.pl who REPOSITORY PATH [--top N]

map prints what a git repository consists of: languages, folders, commands, entry points, hot spots, open ends.
who prints who changed a file or folder, and its code owners.
--months limits hot spots and authors to the last N months before the last commit (default 12).
END

my %LANGUAGE = (
    ts => 'TypeScript', tsx => 'TypeScript', mts => 'TypeScript', js => 'JavaScript', mjs => 'JavaScript', cjs => 'JavaScript',
    jsx => 'JavaScript', py => 'Python', go => 'Go', rs => 'Rust', java => 'Java', kt => 'Kotlin', rb => 'Ruby', php => 'PHP',
    cs => 'C#', c => 'C', h => 'C', cc => 'C++', cpp => 'C++', hpp => 'C++', swift => 'Swift', scala => 'Scala', ex => 'Elixir',
    exs => 'Elixir', lua => 'Lua', pl => 'Perl', pm => 'Perl', sh => 'Shell', bash => 'Shell', sql => 'SQL', vue => 'Vue',
    svelte => 'Svelte', html => 'HTML', css => 'CSS', scss => 'CSS', md => 'Markdown', rst => 'reStructuredText', yml => 'YAML',
    yaml => 'YAML', json => 'JSON', toml => 'TOML', tf => 'Terraform', proto => 'Protocol Buffers', dart => 'Dart', zig => 'Zig',
);
my $LEFT_OUT = qr{(?:^|/)(?:node_modules|vendor|third_party|dist|build|target|\.venv|__pycache__)/|(?:^|/)(?:package-lock\.json|yarn\.lock|pnpm-lock\.yaml|Cargo\.lock|go\.sum|poetry\.lock|uv\.lock|Gemfile\.lock|composer\.lock)$|\.min\.(?:js|css)$|\.(?:snap|map|svg|lock)$};
my $ENTRY = qr{^(?:(?:src|app|lib|bin|packages/[^/]+(?:/src)?|apps/[^/]+(?:/src)?)/)?(?:main|index|app|server|cli|__main__|manage|wsgi|asgi|lib|mod)\.(?:[cm]?[jt]sx?|py|go|rs|rb|php|java|kt)$|^cmd/[^/]+/main\.go$|^bin/[^/]+$|(?:^|/)(?:Main|Application|Program)\.(?:java|kt|cs)$};
my $DOCUMENT = qr{^(?:README|CONTRIBUTING|ARCHITECTURE|AGENTS|CLAUDE|CHANGELOG|SECURITY|HACKING|DEVELOPMENT)[^/]*$|^docs?/[^/]+\.(?:md|rst|adoc)$}i;
my $PIPELINE = qr{^\.github/workflows/|^\.gitlab-ci|^Jenkinsfile|^\.circleci/|^azure-pipelines|(?:^|/)Dockerfile[^/]*$|(?:^|/)(?:docker-)?compose[^/]*\.ya?ml$};
my $TEST = qr{(?:^|/)(?:tests?|spec|__tests__|e2e)/|[._-](?:test|spec)\.|(?:^|/)test_|_test\.(?:go|py|rb|exs?)$};

binmode STDOUT, ':utf8';
binmode STDERR, ':utf8';
my $command = shift @ARGV // '';
if ($command =~ /^(?:-h|--help|help)$/) { print $USAGE; exit 0 }
my %option = (months => 12, top => 12);
{
    local $SIG{__WARN__} = sub { my $text = lcfirst shift; chomp $text; usage($text) };
    GetOptionsFromArray(\@ARGV, \%option, 'help', 'months=i', 'top=i');
}
if ($option{help}) { print $USAGE; exit 0 }
usage("unknown command '$command'") if $command !~ /^(?:map|who)$/;
usage('map takes one repository')           if $command eq 'map' && @ARGV > 1;
usage('who takes a repository and a path')  if $command eq 'who' && @ARGV != 2;
my $repository = $ARGV[0] // '.';
fail("$repository is no folder") if !-d $repository;
my ($last) = git('log', '-1', '--format=%ct') or fail("$repository is no git repository with commits");
my $since = $last - $option{months} * 30 * 86400;
$command eq 'map' ? map_repository() : who_changed($ARGV[1]);

sub map_repository {
    my @all = git_paths('ls-files', '-z');
    my @files = grep { $_ !~ $LEFT_OUT } @all;
    my $lines = count_lines(@files);
    my @commits = recent_commits();

    heading();
    my %language;
    for my $file (grep { $lines->{$_} } @files) {
        my ($extension) = $file =~ /\.(\w+)$/;
        my $name = $LANGUAGE{ lc($extension // '') } // next;
        $language{$name}{files}++;
        $language{$name}{lines} += $lines->{$file};
    }
    my $total = sum0(map { $_->{lines} } values %language) || 1;
    section('languages', map { sprintf '%-18s %6s lines  %5s files  %4.1f%%', $_, thousands($language{$_}{lines}), thousands($language{$_}{files}), 100 * $language{$_}{lines} / $total }
        top(sort { $language{$b}{lines} <=> $language{$a}{lines} || $a cmp $b } keys %language));
    section('folders (main authors of the last ' . amount($option{months}, 'month') . ')', folders(\@files, $lines, \@commits));
    section('commands', map { commands($_) } grep { m{^(?:[^/]+/){0,2}(?:package\.json|Makefile|justfile|pyproject\.toml|Cargo\.toml|go\.mod|Gemfile|composer\.json|pom\.xml|build\.gradle(?:\.kts)?)$} } @files);
    section('entry points (by name)', top(grep { $_ =~ $ENTRY } @files));
    section('documents', top(grep { $_ =~ $DOCUMENT } @files));
    section('pipelines and images', top(grep { $_ =~ $PIPELINE } @files));
    my @tests = grep { $_ =~ $TEST } @files;
    my %test_folder;
    $test_folder{ m{^(.*)/} ? $1 : '.' }++ for @tests;
    section('tests', @tests ? amount(scalar @tests, 'file') . ' in ' . join(', ', map { "$_ ($test_folder{$_})" } top(sort { $test_folder{$b} <=> $test_folder{$a} || $a cmp $b } keys %test_folder)) : ());
    my %changes;
    for my $commit (@commits) { $changes{$_}++ for grep { $_ !~ $LEFT_OUT } @{ $commit->{files} } }
    my %exists = map { $_ => 1 } @files;
    section('changed most', map { sprintf '%4dx  %s', $changes{$_}, $_ } top(sort { $changes{$b} <=> $changes{$a} || $a cmp $b } grep { $exists{$_} } keys %changes));
    section('largest', map { sprintf '%6s lines  %s', thousands($lines->{$_}), $_ } top(sort { $lines->{$b} <=> $lines->{$a} || $a cmp $b } grep { $lines->{$_} && $_ !~ /\.(?:json|md|csv|txt)$/ } @files));
    my %open;
    for my $hit (git('grep', '-I', '-c', '-w', '-E', 'TODO|FIXME|XXX|HACK', '--', '.')) {
        my ($file, $count) = $hit =~ /^(.*):(\d+)$/ or next;
        $open{$file} = $count if $file !~ $LEFT_OUT;
    }
    section('open ends (TODO, FIXME, XXX, HACK)', %open ? amount(sum0(values %open), 'mark') . ': ' . join(', ', map { "$_ ($open{$_})" } top(sort { $open{$b} <=> $open{$a} || $a cmp $b } keys %open)) : ());
    print "\n", amount(@all - @files, 'generated or vendored file'), " left out\n" if @all > @files;
}

sub heading {
    my ($branch) = git('rev-parse', '--abbrev-ref', 'HEAD');
    my ($count) = git('rev-list', '--count', 'HEAD');
    my ($first) = git('log', '--max-parents=0', '--format=%cs', 'HEAD');
    my ($latest) = git('log', '-1', '--format=%cs %h %s');
    my ($tag) = git('describe', '--tags', '--abbrev=0');
    print "$branch, ", amount($count, 'commit'), " since $first", defined $tag ? ", last tag $tag" : '', "\nlast: $latest\n";
}

sub folders {
    my ($files, $lines, $commits) = @_;
    my (%folder, %author);
    for my $file (@$files) {
        my $name = top_folder($file);
        $folder{$name}{files}++;
        $folder{$name}{lines} += $lines->{$file} // 0;
    }
    for my $commit (@$commits) {
        my %touched = map { top_folder($_) => 1 } @{ $commit->{files} };
        $author{$_}{ $commit->{author} }++ for keys %touched;
    }
    return map {
        my $by = $author{$_} // {};
        my @names = sort { $by->{$b} <=> $by->{$a} || $a cmp $b } keys %$by;
        sprintf '%-28s %6s lines  %5s files  %s', $_, thousands($folder{$_}{lines}), thousands($folder{$_}{files}),
            join(', ', map { "$_ ($by->{$_})" } @names[0 .. min($#names, 2)]);
    } top(sort { $folder{$b}{lines} <=> $folder{$a}{lines} || $a cmp $b } keys %folder);
}

# Two levels below the folders that hold most of a repository, one level elsewhere.
sub top_folder {
    my $path = shift;
    return "$1/" if $path =~ m{^((?:src|lib|app|apps|packages|crates|internal|pkg|cmd|services|modules)/[^/]+)/};
    return "$1/" if $path =~ m{^([^/]+)/};
    return '(top)';
}

sub commands {
    my $path = shift;
    my $text = read_text($path) // return;
    my @names;
    if ($path =~ /package\.json$/) {
        my ($scripts) = $text =~ /"scripts"\s*:\s*\{([^}]*)\}/;
        @names = map { "npm run $_" } ($scripts // '') =~ /"([\w:.-]+)"\s*:\s*"/g;
    }
    elsif ($path =~ /Makefile$/)  { @names = map { "make $_" } $text =~ /^([A-Za-z][\w.-]*)\s*:(?!=)/mg }
    elsif ($path =~ /justfile$/)  { @names = map { "just $_" } $text =~ /^([A-Za-z][\w-]*)[^:\n=]*:(?!=)/mg }
    elsif ($path =~ /pyproject/)  { @names = $text =~ /^\[project\.scripts\]\n((?:[\w-]+\s*=.*\n?)+)/m ? $1 =~ /^([\w-]+)\s*=/mg : () }
    elsif ($path =~ /Cargo\.toml/) { @names = $text =~ /^\[\[bin\]\]\s*\nname\s*=\s*"([^"]+)"/mg }
    return $path . (@names ? ': ' . join(', ', @names[0 .. min($#names, 19)]) . (@names > 20 ? ', ...' : '') : '');
}

sub who_changed {
    my $path = shift;
    my @log = git('log', '--no-merges', '--numstat', '--format=%x1e%aN%x1f%ct%x1f%cs', '--', $path);
    fail("no commit touches $path in $repository; give a path below the repository") if !@log;
    my (%person, $now);
    for my $line (@log) {
        if ($line =~ /^\x1e(.*)\x1f(\d+)\x1f(\S+)$/) {
            $now = $person{$1} //= { commits => 0, recent => 0, added => 0, last => $3 };
            $now->{commits}++;
            $now->{recent}++ if $2 > $last - 90 * 86400;
            $now->{first} = $3;
        }
        elsif ($line =~ /^(\d+)\t/) { $now->{added} += $1 }
    }
    my @names = sort { $person{$b}{recent} <=> $person{$a}{recent} || $person{$b}{commits} <=> $person{$a}{commits} || $a cmp $b } keys %person;
    printf "%-28s %8s %12s %10s  %s\n", 'who', 'commits', 'last 90 days', 'added', 'from to';
    for my $name (top(@names)) {
        my $entry = $person{$name};
        printf "%-28s %8d %12d %10s  %s %s\n", $name, @$entry{qw(commits recent)}, thousands($entry->{added}), @$entry{qw(first last)};
    }
    print '(', @names - $option{top}, " more)\n" if @names > $option{top};
    my ($owners) = grep { defined read_text($_) } '.github/CODEOWNERS', 'CODEOWNERS', 'docs/CODEOWNERS' or return;
    print "\n$owners\n", map { "  $_\n" } grep { /^\s*[^#\s]/ } split /\n/, read_text($owners);
}

# --- reading ---

sub recent_commits {
    my @commits;
    for my $line (git('log', '--no-merges', '--name-only', "--since=$since", '--format=%x1e%aN')) {
        if ($line =~ /^\x1e(.*)$/) { push @commits, { author => $1, files => [] } }
        elsif ($line ne '') { push @{ $commits[-1]{files} }, $line }
    }
    return @commits;
}

sub count_lines {
    my %count;
    for my $file (@_) {
        my $path = "$repository/$file";
        next if -l $path || !-f $path || -s $path > 5_000_000;
        open my $handle, '<:raw', $path or next;
        my ($lines, $block) = (0);
        while (read $handle, $block, 65536) {
            if (index($block, "\0") >= 0) { $lines = 0; last }
            $lines += ($block =~ tr/\n//);
        }
        $count{$file} = $lines if $lines;
    }
    return \%count;
}

sub read_text {
    my $path = "$repository/$_[0]";
    return undef if -l $path || !-f $path || -s $path > 1_000_000;
    open my $handle, '<:raw', $path or return undef;
    local $/;
    my $text = readline $handle;
    $text //= '';
    utf8::decode($text);
    return $text;
}

# Lines of a git command, run without a shell; none when it fails.
sub git { my $text = git_output(@_) // return; return split /\n/, $text }

sub git_paths { my $text = git_output(@_) // return; return split /\0/, $text }

sub git_output {
    my @arguments = @_;
    my $pid = open(my $out, '-|') // fail("cannot start git: $!");
    if (!$pid) {
        open STDERR, '>', '/dev/null' if $arguments[0] eq 'describe';
        # A repository's own hooks and monitors are not run.
        { no warnings 'exec'; exec 'git', '-C', $repository, '-c', 'core.fsmonitor=false', '-c', 'core.quotePath=false', '--no-pager', @arguments }
        print STDERR "tour.pl: git is not installed\n";
        exit 127;
    }
    local $/;
    my $text = readline $out;
    close $out or return undef;
    $text //= '';
    utf8::decode($text);
    return $text;
}

# --- printing ---

sub section {
    my ($title, @lines) = @_;
    print "\n$title\n", @lines ? map { "  $_\n" } @lines : "  none found\n";
}

sub top { return @_[0 .. min($#_, $option{top} - 1)] }

sub thousands { my $text = reverse $_[0]; $text =~ s/(\d{3})(?=\d)/$1,/g; return scalar reverse $text }

sub amount { my ($count, $noun) = @_; return thousands($count) . " $noun" . ($count == 1 ? '' : 's') }

sub usage { print STDERR "tour.pl: $_[0]; see tour.pl --help\n"; exit 2 }

sub fail { print STDERR "tour.pl: $_[0]\n"; exit 1 }
